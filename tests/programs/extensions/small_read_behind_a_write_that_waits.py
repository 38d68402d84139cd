"""Reads an operand while a write of it waits for a kernel that waits for the interpreter; prints "done"."""

import json
import sys
import threading

import interlock
from interlock import _core
from python_kernel import register_product

is_running, is_awaited = threading.Event(), threading.Event()


def run() -> None:
    is_running.set()
    is_awaited.wait()


a, b = interlock.ones(4, 4), interlock.ones(4, 4)
register_product(run)
kernel = threading.Thread(target=lambda: a @ b)
kernel.start()
is_running.wait()
detaches = _core._detach_count()
writer = threading.Thread(target=lambda: a.add_(1))
writer.start()
# The writer detaches to wait for the kernel, and later readers wait for the writer.
while _core._detach_count() == detaches:
    pass
# From here on this thread loses the interpreter only if it detaches.
sys.setswitchinterval(3600)
is_awaited.set()
exec(json.loads(sys.argv[1]))
kernel.join()
writer.join()
print("done")
