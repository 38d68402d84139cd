"""Leave a process in the instance that creates the folder; fail in the other once the first is reaped."""

import os
import subprocess
import sys

folder = sys.argv[1]
try:
    os.mkdir(os.path.join(folder, "taken"))
except FileExistsError:
    first = int(open(os.path.join(folder, "fifo")).read())
    try:
        while True:
            os.kill(first, 0)
            os.sched_yield()
    except ProcessLookupError:
        sys.exit(5)
left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
open(os.path.join(folder, "left"), "w").write(str(left.pid))
open(os.path.join(folder, "fifo"), "w").write(str(os.getpid()))
