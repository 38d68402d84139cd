"""Runs an operation on an operand of a kernel while the kernel waits for the interpreter; prints "done"."""

import json
import sys
import threading

import interlock
from python_kernel import register_product

is_running, is_awaited = threading.Event(), threading.Event()


def run() -> None:
    is_running.set()
    is_awaited.wait()


a, b = interlock.ones(4, 4), interlock.ones(4, 4)
register_product(run)
thread = threading.Thread(target=lambda: a @ b)
thread.start()
is_running.wait()
# From here on this thread loses the interpreter only if it detaches.
sys.setswitchinterval(3600)
is_awaited.set()
exec(json.loads(sys.argv[1]))
thread.join()
print("done")
