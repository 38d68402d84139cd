"""Tensors in a process of their own."""

import os
import sys
import threading

import interlock
from interlock import accelerator, errors, testing
from interlock.accelerator.memory import Buffer, copy_


def accelerator_copy_of_an_array_without_dimensions():
    import numpy as np

    accelerator.use("host")
    buffer, array = Buffer(8), np.array(0.0)
    copy_(buffer, np.array(1.5))
    copy_(array, buffer)
    assert array == 1.5


def buffer_method_of_accelerator_memory():
    accelerator.use("host")
    buffer = Buffer(12)
    answers = 0
    for flags in range(0x200):
        try:
            view = buffer.__buffer__(flags)
        except (BufferError, SystemError, ValueError):
            continue
        assert (view.nbytes, len(view.tobytes())) == (12, 12)
        answers += 1
        view.release()
    assert answers > 0


def change_an_array_at_the_end_of_the_interpreter():
    global kept, late
    import numpy

    kept = interlock.from_numpy(numpy.ones(3))
    sys.modules["kept"] = kept

    class Late:
        def __del__(self, tensor=kept):
            tensor.add_(1)

    late = Late()


def long_chain_is_dropped_without_recursion(link):
    global leaf, t, n
    import numpy

    leaf = interlock.ones((), requires_grad=True)
    t = interlock.ones(2)
    for _ in range(200_000):
        exec(link)
    del t
    n = None
    return True


def missing_accelerator_error_names_the_function():
    reported = []
    for use in (
        lambda: interlock.ones(1, device="cuda"),
        lambda: interlock.ones(1).to("cuda:0"),
        lambda: interlock.ones(1).pin_memory(),
        lambda: interlock.device("cuda").__enter__().type and interlock.zeros(1),
    ):
        try:
            use()
        except errors.NoAcceleratorError as error:
            reported.append(str(error).partition(": ")[0])
    return reported


def report_errors(sources):
    """Print the class and the message of the error of each expression in the argument."""
    reported = []
    for source in sources:
        try:
            eval(source, vars(interlock).copy())
        except Exception as error:
            reported.append([type(error).__name__, str(error)])
        else:
            reported.append(["no error", ""])

    return reported


def tensors_of_a_device_stay_with_their_process():
    x = interlock.ones(2, device="host", requires_grad=True)
    y = (x * 2).sum()
    y.item()
    uses = [
        x.tolist,
        lambda: x + 1,
        lambda: x.to("cpu"),
        lambda: repr(x),
        lambda: x.detach().zero_(),
        lambda: x.detach().copy_(interlock.ones(2)),
        lambda: y.backward(),
        lambda: interlock.ones_like(x) * x.detach(),
    ]
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        reported = []
        for use in uses:
            try:
                use()
                reported.append("nothing")
            except Exception as error:
                reported.append(type(error).__name__)
        fresh = (interlock.ones(2, device="host") * 3).tolist()
        shape = (x.shape, str(x.device), x.t().shape)
        os.write(writing, repr((reported, fresh, shape)).encode())
        os._exit(0)
    os.waitpid(process, 0)
    reported, fresh, shape = eval(os.read(reading, 1000))
    return [sorted(set(reported)), fresh, str(shape), x.tolist()]


def unsupported_operation_on_a_device_raises_and_has_no_effect():
    faults = testing.FaultInjector()
    accelerator.use("host", devices=2, faults=faults)
    x = interlock.ones(2, device="host:0")
    here, reported = interlock.ones(2), []

    def tried(use):
        try:
            reported.append(str(use()))
        except Exception as error:
            reported.append(type(error).__name__)

    faults.fail_next_copy("broken")
    tried(lambda: here.to("host:0"))
    faults.fail_next_copy("broken")
    tried(lambda: here.copy_(x))
    faults.fail_next_launch("broken")
    y = x * 2
    tried(y.tolist)
    large = interlock.ones(2_000_000, dtype=interlock.float64, device="host:0")
    accelerator.memory.set_limit(0)
    tried(lambda: large + 1)
    tried(lambda: large.add_(interlock.ones(2_000_000, dtype=interlock.float64, device="host:0")))
    reported.append([x.tolist(), x._version, here._version + large._version])
    faults.lose_device(0, "gone")
    tried(lambda: x + 1)
    tried(x.tolist)
    return reported


def use_tensors_without_numpy():
    x = interlock.tensor([[1.0, 2.0]], requires_grad=True)
    (x @ x.T).sum().backward()
    repr(x), x.tolist(), x[0, 1], x.grad.data_ptr()
    assert "numpy" not in sys.modules


def views_without_elements_are_copied_on_devices():
    accelerator.use("host")
    x = interlock.zeros(0, 4, device="host:0")
    x[:, 2:].copy_(interlock.zeros(0, 2))
    assert interlock.zeros(2, 0, device="host:0")[1:].cpu().shape == (1, 0)
    assert x[:, 2:].clone().shape == (0, 2)
