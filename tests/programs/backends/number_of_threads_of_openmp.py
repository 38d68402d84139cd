import ctypes
import json
import sys
import threading

import interlock
import threadpoolctl

(path,) = map(json.loads, sys.argv[1:])

interlock.set_num_threads(1)
runtime = ctypes.CDLL(path)


def reported():
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "openmp"]
    return [runtime.omp_get_max_threads(), *(pool["num_threads"] for pool in pools)]


def on_another_thread():
    interlock.set_num_threads(3)
    result.append(reported())


result = [reported()]
for number in (1, 2):
    interlock.set_num_threads(number)
    result.append(reported())
thread = threading.Thread(target=on_another_thread)
thread.start()
thread.join()
result.append(reported())

print("\n" + json.dumps(result))
