import ctypes
import json
import sys

(is_hidden, paths) = map(json.loads, sys.argv[1:])

if is_hidden:
    sys.modules["threadpoolctl"] = None
from interlock.backends import openmp

before = openmp.runtimes()
for path in paths:
    ctypes.CDLL(path)
result = [before, sorted(openmp.runtimes())]

print("\n" + json.dumps(result))
