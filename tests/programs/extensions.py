"""Extension modules that share the state; the argument of most is the name of the module."""

from __future__ import annotations

import builtins
import ctypes
import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable

import interlock
from interlock import _core, accelerator, backends, dispatch
from interlock.accelerator import memory

REFUSED = 1
# The offset of `kernel_register` in the table.
KERNEL_REGISTER = 264

Run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Text(ctypes.Structure):
    """`InterlockText`."""

    _fields_ = [("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Kernel(ctypes.Structure):
    """`InterlockKernel`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("requirements", ctypes.c_void_p),
        ("num_requirements", ctypes.c_size_t),
        ("node", ctypes.c_char_p),
        ("context", ctypes.c_void_p),
        ("condition", ctypes.c_void_p),
        ("run", Run),
    ]


kept = []


def register_product(run: Callable[[], None]) -> None:
    """Register a kernel of `matmul` that calls `run` and refuses, so that one of interlock follows."""

    def call(*_: object) -> int:
        run()
        return REFUSED

    function = Run(call)
    kept.append(function)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(_core._C_API, b"interlock._core._C_API")
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, Text, ctypes.POINTER(Kernel), ctypes.c_void_p)
    register = prototype(ctypes.c_void_p.from_address(table + KERNEL_REGISTER).value)
    kernel = Kernel(size=ctypes.sizeof(Kernel), name=b"python", run=function)
    assert register(Text(b"matmul", 6), kernel, None) == 0


def extension_has_a_flag_of_its_own(module):
    """The flag that the extension registers is a flag like any other."""
    extension = importlib.import_module(module)

    name = f"{extension.__name__}.level"
    assert extension.level() == -1
    assert backends.explain(name).level == "default"
    extension.set_level(4)
    assert extension.level() == backends.explain(name).value == 4
    with backends.override(**{name: 7}):
        assert extension.level() == 7
        # A write in a scope ends with the scope.
        extension.set_level(2)
        assert extension.level() == 2
    assert extension.level() == 4
    snapshot = backends.snapshot()
    backends.reset()
    assert extension.level() == -1
    backends.restore(snapshot)
    assert extension.level() == 4
    for wrong in (-2, 10):
        try:
            extension.set_level(wrong)
        except interlock.errors.FlagValueError as error:
            assert str(error) == f"{name} must be an int from -1 to 9, got {wrong}", error
        else:
            raise AssertionError(wrong)
    assert extension.level() == 4
    print("ok")


def total(extension):
    """Return the sum of the numbers below 10, which the extension computes on the current stream."""
    buffer = memory.Buffer(10)
    memoryview(buffer)[:] = bytes(range(10))
    return extension.total(buffer)


def extension_raises_the_exceptions_of_interlock(module):
    """Errors of the table are the exceptions that interlock raises for the same mistake in Python."""
    extension = importlib.import_module(module)

    def error_of(function, *arguments):
        try:
            function(*arguments)
        except Exception as error:
            return type(error), str(error)
        raise AssertionError("nothing was raised")

    with backends.frozen():
        kind, text = error_of(extension.set_level, 3)
        assert kind is interlock.errors.FlagsFrozenError
        assert text.startswith(f"{extension.__name__}.level cannot be set: flags were frozen at "), text
    accelerator.use("none")
    kind, text = error_of(extension.wait)
    assert (kind, text) == error_of(accelerator.current_stream)
    assert kind is interlock.errors.NoAcceleratorError
    print("ok")


def extension_reads_and_sets_flag_and_mode(module):
    """A flag and a mode have one value for Python and for the extension, however they are set."""
    extension = importlib.import_module(module)

    def seen():
        state = (backends.cudnn.benchmark, interlock.is_grad_enabled())
        assert extension.state() == state, (extension.state(), state)
        return state

    assert seen() == (False, True)
    backends.cudnn.benchmark = True
    assert seen() == (True, True)
    with interlock.no_grad(), backends.override(**{"cudnn.benchmark": False}):
        assert seen() == (False, False)
        # The extension's guards are scopes like any other.
        assert extension.call_with(True, True, seen) == (True, True)
        assert seen() == (False, False)
    assert seen() == (True, True)

    assert extension.call_with(False, False, seen) == (False, False)
    try:
        extension.call_with(False, False, lambda: 1 / 0)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("the exception was lost")
    assert seen() == (True, True)

    def writes():
        backends.cudnn.benchmark = True
        interlock.set_grad_enabled(True)
        return seen()

    assert extension.call_with(False, False, writes) == (True, True)
    assert seen() == (True, True)
    with backends.frozen():
        assert extension.call_with(False, False, seen) == (False, False)
    print("ok")


def extension_registers_a_kernel(module):
    """The kernel of the extension multiplies the matrices that it accepts, and records name it."""
    extension = importlib.import_module(module)

    name = extension.__name__
    x = interlock.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = interlock.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

    with dispatch.record() as calls:
        product = x @ y
        (x.detach().t() @ y.t()).sum()
    assert product.tolist() == [[4.0, 5.0], [10.0, 11.0]], product
    assert [call.kernel for call in calls] == [name, name], calls

    # The transposed operands have other strides.
    expected = (x.detach().double().t() @ y.double().t()).tolist()
    assert (x.detach().t() @ y.t()).tolist() == expected

    # Products of the backward pass, too.
    with dispatch.record() as calls:
        product.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 2.0]] * 2, x.grad
    assert [call.kernel for call in calls] == [name], calls

    # What the condition refuses, and what the flag of the extension switches off, runs elsewhere.
    explained = dispatch.explain("matmul", x.double(), y.double())
    assert explained.kernel == "native"
    assert str(explained.considered[0]) == f"{name}: needs matrices of float32 on the CPU", explained
    with backends.override(**{f"{name}.matmul": False}):
        explained = dispatch.explain("matmul", x, y)
        assert explained.kernel == "native"
        assert str(explained.considered[0]) == f"{name}: {name}.matmul is False", explained
        assert (x @ y).tolist() == product.tolist()
    assert "obeyed by matmul" in backends.explain(f"{name}.matmul").affects
    print("ok")


def extension_works_in_a_forked_child(module):
    """A forked child has a copy of the state, which the extension changes without an effect on the parent."""
    extension = importlib.import_module(module)

    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
    accelerator.use("host", devices=2)
    assert total(extension) == 45
    extension.set_level(3)
    with interlock.no_grad(), backends.override(**{"cudnn.benchmark": True}):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert extension.state() == (True, False)
                assert extension.call_with(False, True, extension.state) == (False, True)
                assert extension.level() == 3
                extension.set_level(5)
                assert extension.level() == 5
                assert extension.state_on_thread()[1] == (True, False)
                # The host driver starts again in a child.
                assert total(extension) == 45
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        assert os.waitpid(child, 0) == (child, 0)
    assert (extension.level(), extension.state()) == (3, (False, True))
    assert total(extension) == 45
    print("ok")


def extension_works_on_the_current_stream(module):
    """Work of the extension runs on the current stream, and tensors arrive through DLPack."""
    extension = importlib.import_module(module)

    accelerator.use("host", devices=2)
    assert total(extension) == 45
    for count in (0, 100_000):
        buffer = memory.Buffer(count)
        memory.fill_(buffer, 3)
        assert extension.total(buffer) == 3 * count
    stream = interlock.Stream("host:1")
    with stream:
        # The work waits for the work that the stream has.
        seen = []
        accelerator.launch(stream, seen.append, "before")
        assert total(extension) == 45
        assert seen == ["before"]
        accelerator.launch(stream, seen.append, "after")
        extension.wait()
        assert seen == ["before", "after"]
        accelerator.launch(stream, lambda: 1 / 0)
        try:
            extension.wait()
        except interlock.AcceleratorError as error:
            assert "division by zero" in str(error), error
        else:
            raise AssertionError("the work failed")
    try:
        extension.total(3)
    except AttributeError as error:
        assert "__dlpack__" in str(error), error
    else:
        raise AssertionError("3 is not a tensor")
    print("ok")


def extension_works_on_threads(module):
    """Threads of Python and of the extension have a state each, and can apply a captured one."""
    from concurrent.futures import ThreadPoolExecutor

    extension = importlib.import_module(module)

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
                assert total(extension) == 45
        return number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == list(range(8))
    assert extension.state() == default
    print("ok")


def extension_works_while_the_interpreter_ends(module):
    """Threads and destructors of the extension use flags and devices until the process exits."""
    extension = importlib.import_module(module)

    class LastWords:
        """Lives until the interpreter clears `builtins`."""

        def __init__(self, extension, default):
            self.extension = extension
            self.default = default

        def __del__(self):
            assert self.extension.call_with(True, False, self.extension.level) == -1
            assert self.extension.state() == self.default

    builtins.last_words = LastWords(extension, (False, True))
    for _ in range(2):
        extension.start_thread()
    time.sleep(0.05)
    print("ok")


def header_reads_flags_that_are_not_plain():
    """Prints what the header reads of flags that are not plain, without and with an open scope."""
    import reading

    print(reading.read())
    with backends.override(**{"cudnn.benchmark": True}):
        print(reading.read())


def kernel_leaves_an_exception(status):
    """Prints what a product raises while a kernel leaves an exception set and returns the given status."""
    import raising

    raising.add(status)
    x = interlock.ones(2, 2)
    try:
        x @ x
    except (KeyError, RuntimeError) as error:
        print(repr(error), repr(error.__context__), sep=" | ")


def kernel_that_waits():
    """Start a kernel; return its locked operands by name, its thread and the event that it waits for."""
    is_running, is_awaited = threading.Event(), threading.Event()

    def run() -> None:
        is_running.set()
        is_awaited.wait()

    a, b = interlock.ones(4, 4), interlock.ones(4, 4)

    def multiply() -> None:
        try:
            a @ b
        except RuntimeError as error:
            # The kernel refuses, and `a` may be resized before the next one runs.
            assert "was resized by another thread" in str(error), error

    register_product(run)
    thread = threading.Thread(target=multiply)
    thread.start()
    is_running.wait()
    return {"a": a, "b": b}, thread, is_awaited


def small_operation_during_a_kernel_that_attaches(operation):
    """Run an operation on an operand of a kernel while the kernel waits for the interpreter."""
    operands, kernel, is_awaited = kernel_that_waits()
    # From here on this thread loses the interpreter only if it detaches.
    sys.setswitchinterval(3600)
    is_awaited.set()
    exec(operation, globals() | operands)
    kernel.join()
    print("done")


def small_read_behind_a_write_that_waits(operation):
    """Read an operand while a write of it waits for a kernel that waits for the interpreter."""
    operands, kernel, is_awaited = kernel_that_waits()
    detaches = _core._detach_count()
    writer = threading.Thread(target=lambda: operands["a"].add_(1))
    writer.start()
    # The writer detaches to wait for the kernel, and later readers wait for the writer.
    while _core._detach_count() == detaches:
        pass
    # From here on this thread loses the interpreter only if it detaches.
    sys.setswitchinterval(3600)
    is_awaited.set()
    exec(operation, globals() | operands)
    kernel.join()
    writer.join()
    print("done")
