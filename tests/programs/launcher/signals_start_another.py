"""Start a process that reports that it runs, and never exit; the argument is its first statement."""

from signals_setup import *

code = f"import os, signal, sys; {sys.argv[2]}; os.write(int(sys.argv[1]), b'below\\n'); signal.pause()"
subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe])
signal.pause()
