from library_search_setup import *

(path,) = map(json.loads, sys.argv[1:])

ctypes.CDLL(path)
print(told(libraries.find("mkl"))[1:], flush=True)
print(told(libraries.load("mkl"))[1:], flush=True)
