import json
import os
import signal
import sys
import threading
import time

import interlock

(delay,) = map(json.loads, sys.argv[1:])

sys.setswitchinterval(1e-6)
matrix = interlock.ones(64, 64)
begun = []


def multiply():
    begun.append(True)
    matrix.matmul(matrix)


thread = threading.Thread(target=multiply)
thread.start()
while not begun:
    pass
end = time.perf_counter() + delay
while time.perf_counter() < end:
    pass
process = os.fork()
if process == 0:
    signal.alarm(20)
    os._exit(0 if matrix.matmul(matrix).sum().item() == 64.0**3 else 1)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
