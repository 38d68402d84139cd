import json
import os
import signal
import sys
import threading

import interlock

(kind, threads) = map(json.loads, sys.argv[1:])

interlock.set_num_threads(threads)

# This number of products of expanded matrices would take hours.
x = getattr(interlock.ones(1, 1), kind)().expand(1 << 11, 1 << 30)
thread = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
try:
    thread.start()
    x @ x.t()
except KeyboardInterrupt:
    print("ended")
thread.join()
