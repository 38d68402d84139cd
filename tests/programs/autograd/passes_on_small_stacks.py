"""Backward passes inside of each other do not overflow small stacks."""

import threading

import interlock

DEPTH = 200
done = []


def begin_pass(depth):
    with interlock.enable_grad():
        x = interlock.ones(1, requires_grad=True)
        y = x * 2
        if depth > 1:
            y.register_hook(lambda gradient: begin_pass(depth - 1))
        y.backward()
        done.append((depth, x.grad.item()))


for kibibytes in (96, 256, 1024):
    threading.stack_size(kibibytes * 1024)
    thread = threading.Thread(target=begin_pass, args=(DEPTH,))
    thread.start()
    thread.join()
    assert done == [(depth, 2.0) for depth in range(1, DEPTH + 1)], (kibibytes, len(done))
    done.clear()
print("ok")
