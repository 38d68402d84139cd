"""Tensors with expanded memory, and a limit of the address space."""

import io
import os
import pickle
import resource
import sys
import threading
import warnings

import interlock
from interlock import arange, as_tensor, cat, full, ones, stack, tensor, zeros
from interlock.errors import OutOfMemoryError


def limit(room):
    """Limit the address space of this process to its current size plus `room` bytes."""
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))


class Endless(list):
    def __iter__(self):
        return self

    def __next__(self):
        return 1

    def __len__(self):
        return 1 << 40


def endless(value):
    while True:
        yield value


huge = ones(1).expand(2**40)
one, zero = ones(1, 1), zeros(1, 1).long()
truths = (ones(1) == 1).expand(2**40)


def lift_limit():
    resource.setrlimit(resource.RLIMIT_AS, 2 * (resource.RLIM_INFINITY,))


def iteration_creates_rows_lazily(room):
    from itertools import islice

    limit(room)
    rows = iter(huge)
    assert [row.item() for row in islice(rows, 3)] == [1, 1, 1]
    assert rows.__length_hint__() == 2**40 - 3


def operation_on_many_objects_without_memory(prepare, operation, mebibytes_of_room):
    warnings.simplefilter("ignore")
    scope = dict(globals())
    exec(prepare, scope)
    compiled = compile(operation, "operation", "exec")
    for mebibytes in mebibytes_of_room:
        child = os.fork()
        if child == 0:
            limit(mebibytes << 20)
            try:
                exec(compiled, scope)
            except (MemoryError, OutOfMemoryError):
                pass
            except RuntimeError as error:
                assert "dim" in str(error), error
            for made in ("y", "kept", "parts"):
                scope.pop(made, None)
            lift_limit()
            assert ones(3).sum().item() == 3
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert status == 0, (mebibytes, os.waitstatus_to_exitcode(status))


def operation_without_room_raises_out_of_memory_error(room, operation):
    if "np." in operation:
        # Its import takes longer than most programs.
        import numpy as np
    limit(room)
    try:
        exec(operation)
    except OutOfMemoryError as error:
        assert isinstance(error, RuntimeError), error
        assert error.requested > 0, error
    else:
        raise AssertionError("there was room")
    lift_limit()
    assert ones(3).sum().item() == 3


def product_without_room_for_a_thread():
    interlock.set_num_threads(2)
    matrix = ones(410, 410).long()
    # Room for the result, but not for the stack of a thread.
    limit(5 << 19)
    product = matrix @ matrix
    try:
        threading.Thread(target=os.getpid).start()
    except RuntimeError as error:
        print(error)
    lift_limit()
    assert (product == 410).min().item()


def python_objects_without_room_raise_memory_error(room, operation):
    limit(room)
    try:
        exec(operation)
    except MemoryError:
        pass
    else:
        raise AssertionError("there was room")
    lift_limit()
    assert ones(2).tolist() == [1, 1]
