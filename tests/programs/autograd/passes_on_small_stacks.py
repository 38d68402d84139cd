"""Backward passes inside of each other fail with an exception before the stack of a thread overflows."""

import threading

import interlock

outcomes = []


def begin_pass(gradient=None):
    with interlock.enable_grad():
        x = interlock.ones(1, requires_grad=True)
        y = x * 2
        y.register_hook(begin_pass)
        y.backward()


def work():
    try:
        begin_pass()
    except RecursionError as error:
        outcomes.append(str(error))


for kibibytes in (256, 512, 1024, 4096):
    threading.stack_size(kibibytes * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
assert len(outcomes) == 4, outcomes
assert all(text.startswith("backward: at most ") for text in outcomes), outcomes
assert outcomes[-1] == "backward: at most 30 backward passes can run inside of each other", outcomes
print("ok")
