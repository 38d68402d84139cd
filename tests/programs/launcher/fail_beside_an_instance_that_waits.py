"""Wait for SIGTERM in the instance that creates the folder; fail in the other one when the first waits."""

import os
import signal
import sys
import time

folder = sys.argv[1]
try:
    os.mkdir(os.path.join(folder, "taken"))
except FileExistsError:
    open(os.path.join(folder, "fifo")).read()
    sys.exit(9)


def end(number, frame):
    open(os.path.join(folder, "ended"), "w").close()
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
open(os.path.join(folder, "fifo"), "w").close()
while True:
    # `signal.pause` would miss a signal that arrives just before it.
    time.sleep(0.02)
