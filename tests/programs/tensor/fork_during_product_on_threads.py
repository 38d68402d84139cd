import json
import os
import signal
import threading
import time
import warnings

import interlock

warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."

interlock.set_num_threads(2)
matrix = interlock.rand(512, 512)
expected = (matrix @ matrix).tolist()
busy = True


def multiply():
    while busy:
        matrix @ matrix


thread = threading.Thread(target=multiply)
thread.start()
result = []
for turn in range(10):
    time.sleep(0.002 * turn)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        same = interlock.get_num_threads() == 2 and (matrix @ matrix).tolist() == expected
        os._exit(0 if same else 1)
    result.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
busy = False
thread.join()
print("\n" + json.dumps(result))
