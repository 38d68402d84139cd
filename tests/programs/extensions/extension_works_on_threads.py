"""Threads of Python and of the extension have a state each, and can apply a captured one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import interlock
from interlock import accelerator, backends
from loaded import extension

accelerator.use("host", devices=2)
default = (False, True)
assert extension.state_on_thread() == (default, default, default)
with interlock.no_grad(), backends.override(**{"cudnn.benchmark": True}):
    # A new thread begins with the defaults. It applies the state of this one, and leaves it again.
    assert extension.state_on_thread() == (default, (True, False), default)

barrier = threading.Barrier(8)


def work(number):
    flag, grad = number % 2 == 0, number % 3 == 0
    barrier.wait()
    for count in range(200):
        assert extension.call_with(flag, grad, extension.state) == (flag, grad)
        assert extension.state() == default
        if count % 20 == 0:
            assert extension.count(100) == 4950
    return number


with ThreadPoolExecutor(8) as pool:
    assert sorted(pool.map(work, range(8))) == list(range(8))
assert extension.state() == default
print("ok")
