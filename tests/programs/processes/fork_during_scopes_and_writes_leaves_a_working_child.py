import os
import signal
import threading

import interlock
from interlock import backends

stop = threading.Event()


def disturb() -> None:
    while not stop.is_set():
        with backends.cudnn.flags(enabled=False), interlock.no_grad():
            backends.mkldnn.deterministic = True
        with backends.frozen():
            pass


threads = [threading.Thread(target=disturb) for _ in range(4)]
for thread in threads:
    thread.start()
codes = []
with backends.override({"cudnn.benchmark": True}), interlock.no_grad():
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            seen = backends.cudnn.benchmark, backends.cudnn.enabled, interlock.is_grad_enabled()
            with backends.cudnn.flags(enabled=False), interlock.enable_grad():
                seen += backends.cudnn.enabled, interlock.is_grad_enabled()
            backends.cudnn.deterministic = True
            seen += (backends.cudnn.deterministic,)
            os._exit(0 if seen == (True, True, False, False, True, True) else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(set(codes), interlock.is_grad_enabled(), backends.cudnn.benchmark)
