from library_search_setup import *

(one, link, two) = map(json.loads, sys.argv[1:])

first = reported(libraries.load("cudnn", one))
result = [
    reported(libraries.load("cudnn")) == first,
    reported(libraries.load("cudnn", link)) == first,
    refused(libraries.load, "cudnn", two),
    reported(libraries.find("cudnn")) == first,
]

print("\n" + json.dumps(result))
