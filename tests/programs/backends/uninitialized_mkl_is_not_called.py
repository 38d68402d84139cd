import ctypes
import json
import sys

import threadpoolctl
from interlock.backends import openmp

(mkl, gnu) = map(json.loads, sys.argv[1:])

for path in (mkl, gnu):
    ctypes.CDLL(path)
print(openmp.runtimes() == [("libgomp", gnu, None, 7)], flush=True)
threadpoolctl.threadpool_info()
