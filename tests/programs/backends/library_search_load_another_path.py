from library_search_setup import *

(one, link, two) = map(json.loads, sys.argv[1:])

first = state_of(libraries.load("cudnn", one))
result = [
    state_of(libraries.load("cudnn")) == first,
    state_of(libraries.load("cudnn", link)) == first,
    refused(libraries.load, "cudnn", two),
    state_of(libraries.find("cudnn")) == first,
]

print("\n" + json.dumps(result))
