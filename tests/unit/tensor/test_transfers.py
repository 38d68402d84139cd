"""Transfers between devices: `to`, `copy_`, pinned memory, NumPy and pickle."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator


def test_to_accepts_the_arguments_of_pytorch(two_devices: tuple[str, str]) -> None:
    x = interlock.tensor([1.5, 2.5])
    there, other = x.to(two_devices[0]), interlock.zeros(1, dtype=interlock.int64, device=two_devices[1])
    assert (str(there.device), there.dtype, there.tolist()) == (two_devices[0], interlock.float32, [1.5, 2.5])
    assert there.to(two_devices[0]) is there
    assert there.to(interlock.device(two_devices[0])) is there
    assert x.to("cpu") is x
    assert x.cpu() is x
    assert there.cpu().tolist() == [1.5, 2.5]
    moved = there.to(other)
    assert (str(moved.device), moved.dtype, moved.tolist()) == (two_devices[1], interlock.int64, [1, 2])
    spelled: list[Tensor] = [
        x.to(two_devices[1], interlock.int64),
        x.to(device=two_devices[1], dtype=interlock.int64),
        x.to(two_devices[1], interlock.int64, True, True),
        x.to(two_devices[1], dtype=interlock.int64, non_blocking=True, copy=True),
        x.to(other, True),
    ]
    assert [(str(each.device), each.tolist()) for each in spelled] == [(two_devices[1], [1, 2])] * len(
        spelled
    )
    copied = there.to(two_devices[0], copy=True)
    assert copied is not there
    assert copied.data_ptr() != there.data_ptr()
    assert there.double().float().tolist() == [1.5, 2.5]
    with pytest.raises(TypeError, match=r"to: .*, got 5 arguments"):
        x.to(two_devices[0], interlock.int64, True, True, True)  # type: ignore[call-overload]


def test_copy_has_a_gradient(two_devices: tuple[str, str]) -> None:
    x = interlock.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(two_devices[0], interlock.float64) * 3
    assert y.grad_fn is not None
    (y.to(two_devices[1]) ** 2).sum().backward()
    assert x.grad is not None
    assert (str(x.grad.device), x.grad.dtype, x.grad.tolist()) == ("cpu", interlock.float32, [18.0, 36.0])


@pytest.mark.parametrize("target", ["cpu", "pinned", "first", "second"])
@pytest.mark.parametrize("source", ["cpu", "pinned", "first", "second"])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copy_reads_from_every_device(
    source: str, target: str, non_blocking: bool, two_devices: tuple[str, str]
) -> None:
    def at(place: str, tensor: Tensor) -> Tensor:
        if place == "pinned":
            return tensor.pin_memory()
        return tensor.to({"first": two_devices[0], "second": two_devices[1]}.get(place, place))

    numbers, room = at(source, interlock.tensor([1, 2, 3])), at(target, interlock.zeros(2, 3))
    assert room.copy_(numbers, non_blocking=non_blocking) is room
    room[1].copy_((numbers * 2).float(), non_blocking)
    room[:, 2].copy_(numbers[:2], non_blocking)
    for index in range(2):
        accelerator.synchronize(index)
    assert room.tolist() == [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0]]


def test_pinned_memory_is_of_the_cpu(devices: tuple[str, ...]) -> None:
    x = interlock.tensor([1.0, 2.0])
    pinned = x.pin_memory()
    assert (pinned.is_pinned(), x.is_pinned(), str(pinned.device)) == (True, False, "cpu")
    assert pinned.pin_memory() is pinned
    assert (pinned + 1).tolist() == [2.0, 3.0]
    made = [interlock.zeros(2, pin_memory=True), interlock.tensor([1], pin_memory=True)]
    made += [interlock.full((2,), 1, pin_memory=True), interlock.ones_like(x, pin_memory=True)]
    assert all(each.is_pinned() and str(each.device) == "cpu" for each in made)
    there = x.to(devices[0])
    assert not there.is_pinned()
    with pytest.raises(RuntimeError, match=devices[0]):
        there.pin_memory()
    with pytest.raises(RuntimeError, match="zeros: device must be the CPU if pin_memory is True"):
        interlock.zeros(1, device=devices[0], pin_memory=True)
    assert there.to("cpu", non_blocking=True).is_pinned()
    assert not there.to("cpu").is_pinned()


def test_numpy_refuses_a_tensor_on_a_device(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, device=devices[0])
    for export in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(TypeError, match=r"cpu\(\)"):
            export()
    with pytest.raises(BufferError, match=r"cpu\(\)"):
        memoryview(x)  # type: ignore[arg-type]
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    assert x.requires_grad_().numpy(force=True).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_keep_the_device(
    copied: Callable[[Any], Any], two_devices: tuple[str, str]
) -> None:
    x = interlock.tensor([1.0, 2.0], device=two_devices[1], requires_grad=True)
    again = copied(x)
    assert (str(again.device), again.tolist(), again.requires_grad) == (two_devices[1], [1.0, 2.0], True)
