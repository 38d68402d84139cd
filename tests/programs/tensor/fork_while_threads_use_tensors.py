import json
import os
import signal
import threading
import time
import warnings

import interlock

warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."

SIZE = 200_000
shared = interlock.ones(SIZE)
leaf = interlock.ones(2, requires_grad=True)
busy = True


def change():
    while busy:
        shared.add_(0.0)


def differentiate():
    while busy:
        (leaf * leaf).sum().backward()
        leaf.grad = None
        shared.detach().requires_grad


def use():
    assert shared.sum().item() == SIZE
    shared.add_(1.0)
    assert shared.sum().item() == 2 * SIZE
    # A tensor that a thread was changing during the fork starts without history, others keep it.
    leaf.grad = None
    leaf.requires_grad_()
    (leaf * 3.0).sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0]
    threads = [threading.Thread(target=shared.add_, args=(1.0,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.sum().item() == 6 * SIZE


threads = [threading.Thread(target=work) for work in (change, differentiate)]
for thread in threads:
    thread.start()
result = []
for turn in range(20):
    time.sleep(0.001 * (turn % 3))
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        code = 1
        try:
            use()
            code = 0
        finally:
            os._exit(code)
    result.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if result[-1]:
        break
busy = False
for thread in threads:
    thread.join()

print("\n" + json.dumps(result))
