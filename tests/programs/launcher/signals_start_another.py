"""Start a process that says that it is there, and never end; the argument is what that process does first."""

from signals_setup import *

code = f"import os, signal, sys; {sys.argv[2]}; os.write(int(sys.argv[1]), b'below\\n'); signal.pause()"
subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe])
signal.pause()
