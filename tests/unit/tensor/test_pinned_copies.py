"""Copies between pinned memory and a device run in stream order, also if they convert or gather elements."""

from __future__ import annotations

import threading
from collections.abc import Callable

import interlock
import numpy as np
import pytest
from interlock import Stream, Tensor, accelerator, errors
from interlock.accelerator import Graph

from tests.helpers.gate import Gate

DTYPES = [
    interlock.float64,
    interlock.float16,
    interlock.bfloat16,
    interlock.int64,
    interlock.int8,
    interlock.uint8,
    interlock.bool,
]

# Functions of pinned ones of shape (2, 3) and a device that return a tensor of the device.
QUEUED: dict[str, Callable[[Tensor, str], Tensor]] = {
    "to": lambda x, device: x.to(device, non_blocking=True),
    "to a dtype": lambda x, device: x.to(device, interlock.int64, non_blocking=True),
    "to, strided": lambda x, device: x[:, ::2].to(device, non_blocking=True),
    "to, expanded": lambda x, device: x[0].expand(4, 3).to(device, non_blocking=True),
    "to, transposed to a dtype": lambda x, device: x.t().to(device, interlock.float64, non_blocking=True),
    "to, 0-d to a dtype": lambda x, device: x[1, 2].to(device, interlock.int64, non_blocking=True),
    "to, shared with NumPy": lambda x, device: interlock.from_numpy(x.numpy()).to(device, non_blocking=True),
    "to a dtype, shared with NumPy": lambda x, device: interlock.from_numpy(x.numpy()).to(
        device, interlock.int64, non_blocking=True
    ),
    "copy_ of a dtype": lambda x, device: interlock.empty(2, 3, dtype=interlock.int8, device=device).copy_(
        x, non_blocking=True
    ),
    "copy_, transposed": lambda x, device: interlock.empty(3, 2, device=device).copy_(
        x.t(), non_blocking=True
    ),
    "copy_, broadcast": lambda x, device: interlock.empty(4, 2, 3, device=device).copy_(x, non_blocking=True),
    "copy_, 0-d": lambda x, device: interlock.empty((), device=device).copy_(x[0, 0], non_blocking=True),
    "copy_, 0-d, broadcast": lambda x, device: interlock.empty(2, device=device).copy_(x[0, 0], True),
    "copy_ to a strided tensor": lambda x, device: (
        interlock.empty(3, 2, device=device).t().copy_(x, non_blocking=True)
    ),
}


def assign(x: Tensor, device: str) -> Tensor:
    target = interlock.empty(3, 3, dtype=interlock.int64, device=device)
    target[1:] = x
    return target[1:]


def assign_at_indices(x: Tensor, device: str) -> Tensor:
    target = interlock.empty(3, device=device)
    target[[0, 2]] = x[0, 0]
    return target[::2]


BLOCKING: dict[str, Callable[[Tensor, str], Tensor]] = {
    "to": lambda x, device: x.to(device),
    "to a dtype": lambda x, device: x.to(device, interlock.int64),
    "to, strided": lambda x, device: x[:, ::2].to(device),
    "copy_ of a dtype": lambda x, device: interlock.empty(2, 3, dtype=interlock.int8, device=device).copy_(x),
    "copy_, broadcast": lambda x, device: interlock.empty(4, 2, 3, device=device).copy_(x),
    "copy_, 0-d": lambda x, device: interlock.empty((), device=device).copy_(x[0, 0]),
    "assignment": assign,
    "assignment at indices": assign_at_indices,
    "tensor": lambda x, device: interlock.tensor(x, dtype=interlock.int64, device=device),
    "new_tensor": lambda x, device: interlock.empty(0, device=device).new_tensor(x, dtype=interlock.int64),
    "as_tensor": lambda x, device: interlock.as_tensor(x, dtype=interlock.int64, device=device),
}


@pytest.fixture
def pinned(devices: tuple[str, ...], gate: Gate) -> Tensor:
    """Pinned memory to which queued work writes ones once the gate is open."""
    ones, x = interlock.ones(2, 3, device=devices[0]), interlock.zeros(2, 3, pin_memory=True)
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    return x.copy_(ones, non_blocking=True)


def of_ones(tensor: Tensor) -> bool:
    return bool((tensor == 1).all().item())


@pytest.mark.parametrize("copy", QUEUED.values(), ids=QUEUED)
def test_queued_copy_reads_pinned_memory_when_it_runs(
    copy: Callable[[Tensor, str], Tensor], pinned: Tensor, devices: tuple[str, ...], gate: Gate
) -> None:
    copied = copy(pinned, devices[0])
    assert not accelerator.current_stream(devices[0]).query()
    gate.open()
    assert of_ones(copied), copied.tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_queued_conversion_of_every_dtype(
    dtype: interlock.dtype, pinned: Tensor, devices: tuple[str, ...], gate: Gate
) -> None:
    there = pinned.to(devices[0], dtype, non_blocking=True)
    back = interlock.zeros(2, 3, dtype=dtype, pin_memory=True).copy_(there, non_blocking=True)
    again = back.to(devices[0], interlock.float32, non_blocking=True)
    gate.open()
    assert (there.dtype, there.tolist(), again.tolist()) == (dtype, [[1] * 3] * 2, [[1.0] * 3] * 2)


@pytest.mark.parametrize("copy", BLOCKING.values(), ids=BLOCKING)
def test_blocking_copy_reads_pinned_memory_after_queued_work(
    copy: Callable[[Tensor, str], Tensor], pinned: Tensor, devices: tuple[str, ...], gate: Gate
) -> None:
    timer = threading.Timer(0.02, gate.open)
    timer.start()
    copied = copy(pinned, devices[0])
    assert gate.begun.is_set()
    # The call has read the source.
    pinned.zero_()
    assert of_ones(copied), copied.tolist()
    timer.join()


@pytest.mark.parametrize("dtype", [interlock.float32, interlock.int64], ids=str)
def test_value_of_a_pinned_0d_tensor_is_fixed_by_the_call(
    dtype: interlock.dtype, devices: tuple[str, ...], gate: Gate
) -> None:
    value, x = interlock.ones((), dtype=dtype, pin_memory=True), interlock.zeros(3, device=devices[0])
    first, mask = (interlock.tensor(each, device=devices[0]) for each in ([0], [False, True, False]))
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    x.index_fill_(0, first, value)
    x.masked_fill_(mask, value)
    x[2:].add_(value)
    value.zero_()
    gate.open()
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.interlock_races("reads what a queued copy writes")
@pytest.mark.parametrize("dtype", [interlock.float32, interlock.int64], ids=str)
def test_copy_to_strided_pinned_memory_is_queued(
    dtype: interlock.dtype, devices: tuple[str, ...], gate: Gate
) -> None:
    target, ones = interlock.zeros(2, 6, dtype=dtype, pin_memory=True), interlock.ones(3, device=devices[0])
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    target[:, ::2].copy_(ones, non_blocking=True)
    assert target.tolist() == [[0] * 6] * 2
    gate.open()
    accelerator.synchronize(devices[0])
    assert target.tolist() == [[1, 0] * 3] * 2


def test_replay_of_a_graph_reads_and_writes_pinned_memory_again(devices: tuple[str, ...]) -> None:
    x, out = interlock.zeros(2, 3, pin_memory=True), interlock.zeros(3, 4, pin_memory=True)
    shared = interlock.from_numpy(x.numpy())
    stream, graph = Stream(devices[0]), Graph()
    target = interlock.zeros(3, 2, dtype=interlock.int64, device=devices[0])
    accelerator.synchronize(devices[0])
    with stream:
        graph.capture_begin()
        whole = x.to(devices[0], interlock.int64, non_blocking=True)
        of_array = shared.to(devices[0], interlock.float64, non_blocking=True)
        target.copy_(x.t(), non_blocking=True)
        out[:, ::2].copy_(target + 1, non_blocking=True)
        with pytest.raises(errors.GraphError, match=r"^to: .*non_blocking=True"):
            x.to(devices[0], interlock.int64)
        graph.capture_end()
        del shared
        for value in (1.0, 2.0):
            x.fill_(value)
            graph.replay()
            stream.synchronize()
            assert whole.tolist() == [[value] * 3] * 2
            assert of_array.tolist() == [[value] * 3] * 2
            assert target.tolist() == [[value] * 2] * 3
            assert out.tolist() == [[value + 1, 0.0] * 2] * 3


def test_array_over_pinned_memory_is_kept_by_a_queued_copy(devices: tuple[str, ...], gate: Gate) -> None:
    x = interlock.full((1000,), 3.0, pin_memory=True)
    array = x.numpy()
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    there = interlock.from_numpy(array).to(devices[0], interlock.float64, non_blocking=True)
    del x, array
    others = [interlock.zeros(1000, pin_memory=True) for _ in range(4)]
    gate.open()
    assert np.array_equal(there.cpu().numpy(), np.full(1000, 3.0))
    assert all(not bool(each.any().item()) for each in others)
