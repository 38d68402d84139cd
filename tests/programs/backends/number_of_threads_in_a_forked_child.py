import ctypes
import json
import os
import signal
import sys

import interlock

(path,) = map(json.loads, sys.argv[1:])

runtime = ctypes.CDLL(path)
interlock.set_num_threads(2)
child = os.fork()
if child == 0:
    # A child that hangs is killed.
    signal.alarm(20)
    interlock.set_num_threads(3)
    os._exit(runtime.omp_get_max_threads())
result = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), runtime.omp_get_max_threads()]

print("\n" + json.dumps(result))
