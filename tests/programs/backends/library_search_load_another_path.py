from library_search_setup import *

(one, link, two) = map(json.loads, sys.argv[1:])

first = told(libraries.load("cudnn", one))
result = [
    told(libraries.load("cudnn")) == first,
    told(libraries.load("cudnn", link)) == first,
    refused(libraries.load, "cudnn", two),
    told(libraries.find("cudnn")) == first,
]

print("\n" + json.dumps(result))
