from library_search_setup import *

(path,) = map(json.loads, sys.argv[1:])

ctypes.CDLL(path)
print(state_of(libraries.find("mkl"))[1:], flush=True)
print(state_of(libraries.load("mkl"))[1:], flush=True)
