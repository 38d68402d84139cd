"""Tensors that several threads use, and forks."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings

import interlock


def fork_during_first_product(delay):
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
    end = time.perf_counter() + delay
    while time.perf_counter() < end:
        pass
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        os._exit(0 if matrix.matmul(matrix).sum().item() == 64.0**3 else 1)
    thread.join()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def fork_during_product_on_threads():
    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."

    interlock.set_num_threads(2)
    matrix = interlock.rand(512, 512)
    expected = (matrix @ matrix).tolist()
    busy = True

    def multiply():
        while busy:
            matrix @ matrix

    thread = threading.Thread(target=multiply)
    thread.start()
    result = []
    for turn in range(10):
        time.sleep(0.002 * turn)
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            same = interlock.get_num_threads() == 2 and (matrix @ matrix).tolist() == expected
            os._exit(0 if same else 1)
        result.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    busy = False
    thread.join()
    return result


def number_of_threads(expected):
    """Return the number of threads of the system, which takes a moment to remove one that has ended."""
    end = time.monotonic() + 5
    while len(os.listdir("/proc/self/task")) != expected and time.monotonic() < end:
        time.sleep(0.001)
    return len(os.listdir("/proc/self/task"))


def fork_after_operations_on_threads():
    """Print the numbers of threads of the system before and after a fork, and the status of the child."""
    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
    interlock.set_num_threads(3)
    x = interlock.ones(1 << 20)
    seen = set()
    for _ in range(20):
        assert (x + x)[-1].item() == 2.0
        before = number_of_threads(3)
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            os._exit(0 if (x + x)[-1].item() == 2.0 else 1)
        after = number_of_threads(1)
        seen.add((before, after, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    print(*seen)


def signal_after_operations_on_threads():
    """Wait for a signal that the one thread of the program blocks."""
    interlock.set_num_threads(3)
    x = interlock.ones(1 << 20)
    x + x
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    os.kill(os.getpid(), signal.SIGTERM)
    print(signal.sigwait([signal.SIGTERM]).name)


def statuses_of_children(use):
    """Fork twenty times, or until a child fails; return the statuses of the children, which call `use`."""
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
    return result


def fork_while_threads_assign_data():
    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
    leaf = interlock.ones(20_000, requires_grad=True)
    busy = True

    def assign():
        while busy:
            leaf.data = leaf.data + 1.0

    def differentiate():
        while busy:
            (leaf * leaf).sum().backward()

    def use():
        leaf.grad = None
        leaf.requires_grad_()
        leaf.data = interlock.full((3,), 2.0)
        (leaf * leaf).sum().backward()
        assert leaf.grad.tolist() == [4.0, 4.0, 4.0]

    threads = [threading.Thread(target=work) for work in (assign, differentiate)]
    for thread in threads:
        thread.start()
    result = statuses_of_children(use)
    busy = False
    for thread in threads:
        thread.join()
    return result


def fork_while_threads_use_tensors():
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
    result = statuses_of_children(use)
    busy = False
    for thread in threads:
        thread.join()
    return result


def long_matrix_product_is_interrupted(kind, threads):
    interlock.set_num_threads(threads)

    # This number of products of expanded matrices would take hours.
    x = getattr(interlock.ones(1, 1), kind)().expand(1 << 11, 1 << 30)
    thread = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    try:
        thread.start()
        x @ x.t()
    except KeyboardInterrupt:
        print("ended")
    thread.join()


def resize_on_threads():
    """Resize a tensor on one thread while others use it, and print what is wrong with the results."""
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
