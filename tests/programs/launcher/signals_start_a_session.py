"""Start a process in a new session, which reports that it runs, and ignore SIGTERM."""

from signals_setup import *

code = "import os, signal, sys; os.write(int(sys.argv[1]), b'below\\n'); signal.pause()"
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe], start_new_session=True)
while True:
    signal.pause()
