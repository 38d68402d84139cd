import gc
import time

from trace_setup import *


def leaves_open():
    for _ in range(3):
        no_grad().__enter__()  # entered


async def work():
    leaves_open()


on_a_thread(leaves_open)
aio.run(work())
caught.__exit__()

deadline = time.monotonic() + 30
while interlock.state.open_scopes() and time.monotonic() < deadline:
    # `Thread.join` returns before the native part of the thread has ended.
    gc.collect()
    time.sleep(0.01)
print(interlock.state.open_scopes())
