"""Operations on device tensors are queued: order, streams and lifetime of operands."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Iterator

import interlock
import pytest
from interlock import Stream, Tensor, accelerator, errors
from interlock.accelerator import Graph
from interlock.autograd import graph

from tests.helpers.gate import Gate
from tests.helpers.subprocess import eval_program


@pytest.mark.interlock_races("reads what a stream changes later")
def test_operation_is_queued_behind_earlier_work(devices: tuple[str, ...], gate: Gate) -> None:
    x = interlock.tensor([1.0, 2.0], device=devices[0])
    stream = Stream(devices[0])
    accelerator.launch(stream, gate)
    with stream:
        y = (x * 3).exp().sum()
        x.add_(1)
    assert not stream.query()
    assert x.tolist() == [1.0, 2.0], "another stream reads the previous values"
    gate.open()
    stream.synchronize()
    assert x.tolist() == [2.0, 3.0]
    assert y.item() == pytest.approx(2.718281828**3 + 2.718281828**6)


@pytest.mark.parametrize("operation", ["item", "tolist"])
def test_read_inside_a_function_names_the_operation(devices: tuple[str, ...], operation: str) -> None:
    x, stream = interlock.ones(1, device=devices[0]), Stream(devices[0])

    def work() -> None:
        refused = f"^{operation} failed .* cannot wait for that stream"
        with pytest.raises(errors.AcceleratorError, match=refused):
            getattr(x, operation)()

    stream.wait_stream(accelerator.current_stream(devices[0]))
    with stream:
        accelerator.launch(stream, work)
    stream.synchronize()


def test_temporary_may_be_dropped_before_its_kernel_has_run(devices: tuple[str, ...], gate: Gate) -> None:
    x = interlock.full((4,), 2.0, device=devices[0])
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    temporary = x * 3
    gone = weakref.ref(temporary)
    result = temporary + 1
    del temporary
    assert gone() is None
    others = [interlock.full((4,), float(value), device=devices[0]) for value in range(8)]
    gate.open()
    assert result.tolist() == [7.0] * 4
    assert [each[0].item() for each in others] == list(range(8))


def test_two_streams_are_ordered_by_wait_stream(devices: tuple[str, ...], gate: Gate) -> None:
    first, second = Stream(devices[0]), Stream(devices[0])
    accelerator.launch(first, gate)
    with first:
        x = interlock.ones(3, device=devices[0])
    with second:
        y = interlock.ones(3, device=devices[0]) * 2
    second.synchronize()
    second.wait_stream(first)
    with second:
        z = x + y
        del x
    assert not second.query()
    gate.open()
    with second:
        assert z.tolist() == [3.0] * 3


@pytest.fixture
def no_warning_of_streams() -> Iterator[None]:
    graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    yield
    graph.set_warn_on_accumulate_grad_stream_mismatch(True)


@pytest.mark.usefixtures("no_warning_of_streams")
def test_backward_pass_follows_the_streams_of_the_forward_pass(devices: tuple[str, ...], gate: Gate) -> None:
    own, side = accelerator.current_stream(devices[0]), Stream(devices[0])
    x = interlock.tensor([1.0, 2.0], device=devices[0], requires_grad=True)
    side.wait_stream(own)
    with side:
        y = x * x
    own.wait_stream(side)
    z = (y + x * 5).sum()
    own.synchronize()
    accelerator.launch(side, gate)
    z.backward()
    assert x.grad is not None
    assert not own.query(), "it waits for the stream on which the backward of x * x runs"
    total = x.grad.sum()
    gate.open()
    assert (x.grad.tolist(), total.item()) == ([7.0, 9.0], 16.0)


def test_gradients_of_a_leaf_from_several_streams_warn_once(driver: str) -> None:
    messages = eval_program("tensor.gradient_streams.gradients_from_several_streams", driver)
    assert [len(each) for each in messages] == [0, 1, 0]
    assert messages[1][0].startswith("backward: the gradients of a leaf were computed on several streams")
    for value in (1, None):
        with pytest.raises(errors.FlagTypeError, match="mismatch: enabled must be a bool, got"):
            graph.set_warn_on_accumulate_grad_stream_mismatch(value)  # type: ignore[arg-type]
        with pytest.raises(errors.FlagTypeError, match="stream: enabled must be a bool, got"):
            graph.set_override_stale_capture_stream(value)  # type: ignore[arg-type]


@pytest.fixture
def no_override_of_stale_streams() -> None:
    graph.set_override_stale_capture_stream(False)


@pytest.fixture
def override_of_stale_streams() -> Iterator[None]:
    graph.set_override_stale_capture_stream(True)
    yield
    graph.set_override_stale_capture_stream(False)


def captured_backward(device: str, forward: Stream) -> tuple[Tensor, Graph, Stream]:
    """Capture a backward pass of operations that ran outside of the capture, and return the leaf."""
    with forward:
        x = interlock.tensor([1.0, 2.0], device=device, requires_grad=True)
        y = (x * x).sum()
    accelerator.synchronize(device)
    stream, captured = Stream(device), Graph()
    with stream, captured:
        y.backward()
    return x, captured, stream


def check_replay(x: Tensor, captured: Graph, stream: Stream) -> None:
    with stream:
        captured.replay()
    stream.synchronize()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.usefixtures("no_override_of_stale_streams")
def test_a_captured_backward_pass_refuses_operations_of_the_default_stream(devices: tuple[str, ...]) -> None:
    expected = r"^SumBackward0: its stream is a default stream, which would invalidate the graph"
    default = accelerator.current_stream(devices[0])
    assert default.stream_id == 0
    with pytest.raises(errors.GraphError, match=expected):
        captured_backward(devices[0], default)
    check_replay(*captured_backward(devices[0], Stream(devices[0])))


@pytest.mark.usefixtures("override_of_stale_streams")
@pytest.mark.parametrize("uses_default", [True, False])
def test_a_captured_backward_pass_may_run_on_the_captured_stream(
    devices: tuple[str, ...], uses_default: bool
) -> None:
    forward = accelerator.current_stream(devices[0]) if uses_default else Stream(devices[0])
    check_replay(*captured_backward(devices[0], forward))
    x = interlock.ones(2, device=devices[0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_results_can_be_used_without_synchronization(devices: tuple[str, ...], gate: Gate) -> None:
    own, side = accelerator.current_stream(devices[0]), Stream(devices[0])
    x = interlock.tensor([1.0, 2.0], device=devices[0], requires_grad=True)
    side.wait_stream(own)
    with side:
        y = x.exp()
        z = (y * y).sum()
    accelerator.launch(side, gate)
    own.wait_stream(side)
    first, second = interlock.autograd.grad(z, [x, y])
    assert not own.query()
    ratio = first / second
    gate.open()
    assert ratio.tolist() == pytest.approx([2.718281828, 2.718281828**2], rel=1e-5)


@pytest.mark.interlock_races("writes what a queued copy reads")
def test_copy_from_pinned_memory_reads_in_stream_order(devices: tuple[str, ...], gate: Gate) -> None:
    pinned, pageable = interlock.ones(3).pin_memory(), interlock.ones(3)
    stream = Stream(devices[0])
    accelerator.launch(stream, gate)
    with stream:
        late = pinned.to(devices[0], non_blocking=True)
        early = pageable.to(devices[0], non_blocking=True)
        back = late.to("cpu", non_blocking=True)
        pageable.fill_(9)
        pinned.fill_(2)
        del pageable
        gc.collect()
    assert not stream.query()
    gate.open()
    stream.synchronize()
    assert (late.tolist(), early.tolist(), back.tolist()) == ([2.0] * 3, [1.0] * 3, [2.0] * 3)


def test_graph_replays_in_place_operations_and_refuses_to_wait(devices: tuple[str, ...]) -> None:
    x = interlock.tensor([1.0, 2.0], device=devices[0])
    weight = interlock.tensor([3.0, 4.0], device=devices[0], requires_grad=True)
    stream, graph = Stream(devices[0]), Graph()
    stream.wait_stream(accelerator.current_stream(devices[0]))
    with stream, graph:
        loss = (x * weight).sum()
        (gradient,) = interlock.autograd.grad(loss * 2, weight)
        for wait in (loss.item, gradient.tolist, lambda: repr(x), lambda: x[x > 1], x.cpu):
            with pytest.raises(errors.GraphError):
                wait()
    for value in (5.0, 6.0):
        x.fill_(value)
        stream.wait_stream(accelerator.current_stream(devices[0]))
        with stream:
            graph.replay()
            assert (loss.item(), gradient.tolist()) == (7 * value, [2 * value] * 2)


@pytest.mark.interlock_races("streams add to one tensor")
def test_many_threads_share_streams_and_tensors(devices: tuple[str, ...]) -> None:
    streams = [Stream(devices[0]) for _ in range(4)]
    with interlock.device(devices[0]):
        shared = interlock.zeros(16)
    accelerator.synchronize(0)
    wrong: list[tuple[int, int]] = []

    def work(number: int) -> None:
        draw = random.Random(number)
        for turn in range(50):
            value, (first, second) = float(draw.randrange(100)), draw.sample(streams, 2)
            with first:
                x = interlock.full((draw.randrange(1, 3000),), value, device=devices[0], requires_grad=True)
                y = x * 2 + 1
                shared.add_(1)
            second.wait_stream(first)
            with second:
                z = y - x.detach()
                del y
                z.sum().backward()
                same = (z == value + 1).sum().item() == z.numel()
                if not same or x.grad is None or x.grad.sum().item() != 2 * x.numel():
                    wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accelerator.synchronize(0)
    assert wrong == []
    assert shared.tolist() == [400.0] * 16


@pytest.mark.parametrize(
    "wait", ["x.item()", "x.tolist()", "repr(x)", "x[x > 0]", "x.cpu()", "x.to('host:1')"]
)
def test_wait_for_a_tensor_lets_other_threads_run(wait: str) -> None:
    assert eval_program(
        "tensor.streams.wait_for_a_tensor_lets_other_threads_run",
        wait,
        env={"INTERLOCK_ACCELERATOR": "host:2"},
    ) == [1.0]


@pytest.mark.parametrize("wait", ["x.sum().item()", "x.tolist()", "repr(x)", "x[x > 0]", "x.cpu()"])
def test_wait_for_a_tensor_ends_with_keyboard_interrupt(wait: str) -> None:
    assert eval_program(
        "tensor.streams.interrupt_a_wait_for_a_tensor",
        wait,
        env={"INTERLOCK_ACCELERATOR": "host:2"},
    ) == [1.0, 1.0]
