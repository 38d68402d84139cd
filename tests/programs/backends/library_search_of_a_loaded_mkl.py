from library_search_setup import *

(path,) = map(json.loads, sys.argv[1:])

ctypes.CDLL(path)
print(reported(libraries.find("mkl"))[1:], flush=True)
print(reported(libraries.load("mkl"))[1:], flush=True)
