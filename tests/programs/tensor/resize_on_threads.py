"""Resize a tensor on one thread while others use it, and print what is wrong with the results."""

from __future__ import annotations

import contextlib
import threading
import warnings

import interlock

warnings.simplefilter("ignore")
# Large enough for operations to run while other threads are attached to the interpreter.
x = interlock.ones(80, 80)
errors: list[object] = []
OPERATIONS = (
    lambda: x + x,
    lambda: x.add_(1),
    lambda: x.t().sum(),
    lambda: x @ x.t(),
    lambda: x.zero_(),
    lambda: x.tolist(),
    lambda: repr(x),
    lambda: x.copy_(x.clone()),
    lambda: interlock.cat([x, x]),
    lambda: x.reshape(-1).sort(),
    lambda: x.softmax(0),
    lambda: interlock.exp(interlock.ones(75, 75), out=x),
    lambda: x.resize_as_(x.t()),
    lambda: interlock.from_dlpack(x).sum(),
)


def use() -> None:
    for _ in range(20):
        alias = x.detach()
        array = alias.clone().numpy()
        if array.shape != alias.shape or len(alias.flatten().tolist()) != alias.numel():
            errors.append((array.shape, alias.shape))
        for operation in OPERATIONS:
            # The shape may change between two reads in an operation.
            with contextlib.suppress(RuntimeError, ValueError, IndexError):
                operation()


threads = [threading.Thread(target=use) for _ in range(3)]
for thread in threads:
    thread.start()
step = 0
while any(thread.is_alive() for thread in threads):
    step += 1
    x.resize_(65 + step * 37 % 40, 70 + step * 11 % 30)
for thread in threads:
    thread.join()
print(errors)
