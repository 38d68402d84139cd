"""Fail and leave a process that ignores SIGTERM."""

from signals_setup import *

code = "from signal import *; signal(SIGTERM, SIG_IGN); print(1, flush=True); pause()"
below = subprocess.Popen([sys.executable, "-c", code], pass_fds=[pipe], stdout=subprocess.PIPE)
below.stdout.readline()
os._exit(5)
