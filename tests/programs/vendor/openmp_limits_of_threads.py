from vendor_setup import *

(is_hidden,) = map(json.loads, sys.argv[1:])

if is_hidden:
    sys.modules["threadpoolctl"] = None
import threading

from interlock.backends import libraries, openmp

gomp = ctypes.CDLL(libraries.load("onednn").path)


def limit():
    (runtime,) = openmp.runtimes()
    return runtime.threads


def other():
    gomp.omp_set_num_threads(5)
    result.append(limit())


result = []
thread = threading.Thread(target=other)
thread.start()
thread.join()
result.append(limit())

print("\n" + json.dumps(result))
