"""Stop this instance, as a terminal stops a background process that reads from it; exit on SIGTERM."""

from signals_setup import *


def end(number, frame):
    say("ended")
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
# Another process reports that this one is stopped.
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[0] != "T":
        os.sched_yield()
    say("stopped")
    os._exit(0)
os.kill(os.getpid(), signal.SIGSTOP)
run_handlers()
