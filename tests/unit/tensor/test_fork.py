"""Tensors in a forked child."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import eval_python, run_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork")

FORKS = """
    import os, signal, threading, time, warnings
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
        # What a thread was changing in the moment of the fork starts without history, others keep it.
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
    answer = []
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
        answer.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if answer[-1]:
            break
    busy = False
    for thread in threads:
        thread.join()
"""


# A child that hangs is ended by its alarm.
def test_a_child_computes_on_what_a_thread_of_the_parent_works_on() -> None:
    assert eval_python(FORKS) == [0] * 20


FIRST_PRODUCT = """
    import os, signal, sys, threading, time
    import interlock

    sys.setswitchinterval(1e-6)
    matrix = interlock.ones(64, 64)
    begun = []

    def multiply():
        begun.append(True)
        matrix.matmul(matrix)

    thread = threading.Thread(target=multiply)
    thread.start()
    while not begun:
        pass
    end = time.perf_counter() + {delay}
    while time.perf_counter() < end:
        pass
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        os._exit(0 if matrix.matmul(matrix).sum().item() == 64.0 ** 3 else 1)
    thread.join()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


def test_matmul_works_in_a_child_forked_during_the_first_product() -> None:
    # gemm initializes itself for some dozens of microseconds; the delays look for that time.
    options = ("-W", "ignore:This process:DeprecationWarning")
    delays = [number * 20e-6 for number in range(16)]
    done = [run_python(FIRST_PRODUCT.format(delay=delay), options=options) for delay in delays]
    assert [each.stdout for each in done] == ["0\n"] * len(delays), done
