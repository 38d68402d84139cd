"""The effects of gradient modes on tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor

pytestmark = pytest.mark.usefixtures("everywhere")


def inference_tensor() -> Tensor:
    with interlock.inference_mode():
        return interlock.ones(2)


def test_no_grad_records_nothing() -> None:
    x = interlock.ones(2, requires_grad=True)
    with interlock.no_grad():
        plain = x * 2
        with interlock.enable_grad():
            recorded = x * 2
    assert (plain.requires_grad, recorded.requires_grad) == (False, True)
    with interlock.set_grad_enabled(False):
        assert (x * 2).grad_fn is None


def test_inference_mode_creates_inference_tensors() -> None:
    x = interlock.ones(2, requires_grad=True)
    with interlock.inference_mode():
        y = x * 2
        assert not y.requires_grad
        assert not x[0].is_inference()
        y += 1
        with interlock.inference_mode(False):
            assert not interlock.ones(1).is_inference()
            assert (x * 2).requires_grad
    assert interlock.is_inference(y)
    with pytest.raises(RuntimeError, match="version"):
        _ = y._version


def test_inference_tensors_are_refused_in_recorded_operations() -> None:
    x, fixed = interlock.ones(2, requires_grad=True), inference_tensor()
    refusals: list[Callable[[], object]] = [
        lambda: x * fixed,
        lambda: fixed.add_(1),
        lambda: fixed.requires_grad_(),
        lambda: fixed[0].zero_(),
    ]
    for refused in refusals:
        with pytest.raises(RuntimeError, match="inference"):
            refused()
    (x + fixed).sum().backward()
    assert (x * fixed.clone()).requires_grad
    assert not (fixed * 2).is_inference()
    assert fixed.tolist() == [1.0, 1.0]


def test_ordinary_tensors_can_change_in_inference_mode() -> None:
    x = interlock.ones(2, requires_grad=True)
    with interlock.inference_mode():
        x.add_(1)
    assert (x.tolist(), x._version, x.requires_grad) == ([2.0, 2.0], 1, True)


def test_view_with_an_unknown_history_is_read_by_conversions() -> None:
    base = interlock.ones(2, requires_grad=True) * 1
    with interlock.no_grad():
        view = base[:1]
    base.mul_(2.5)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.double()
    for dtype, value in ((interlock.int64, 2), (interlock.uint8, 2), (interlock.bool, True)):
        for result in (view.to(dtype), interlock.as_tensor(view, dtype=dtype)):
            assert (result.tolist(), result.requires_grad) == ([value], False)
    assert view.requires_grad_() is view


def test_view_made_in_no_grad_mode_cannot_be_changed_with_grad() -> None:
    y = interlock.ones(2, requires_grad=True) * 1
    with interlock.no_grad():
        view = y[:1]
    assert view.requires_grad
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2)
    with interlock.no_grad():
        view.mul_(2)
    with pytest.raises(RuntimeError, match="no_grad"):
        _ = view.grad_fn
    assert "Invalid" in repr(view)


def test_view_of_an_inference_tensor_does_not_require_grad() -> None:
    with interlock.inference_mode():
        x = interlock.ones(2, requires_grad=True)
        inside = x[:1]
    for view in (inside, x[:1], x.view(1, 2), x[:1][:1], x.t(), x.expand(2, 2)):
        assert (view.requires_grad, view.grad_fn, view.is_inference()) == (False, None, True)
    assert x.requires_grad


@pytest.mark.parametrize("mode", [interlock.no_grad, interlock.inference_mode])
def test_item_and_tolist_read_a_tensor_that_requires_grad(
    mode: Callable[[], AbstractContextManager[None]],
) -> None:
    with interlock.device("cpu"):
        # The stubs declare the buffer protocol for Python 3.12 and later.
        x: Any = interlock.tensor([1.0, 2.0], requires_grad=True)
        for each in (x, x * 1, x.detach()):
            with mode():
                assert each.numpy().tolist() == [1.0, 2.0]
                assert np.asarray(each).tolist() == [1.0, 2.0]
                assert np.asarray(each, dtype="f8").tolist() == [1.0, 2.0]
                assert memoryview(each).tolist() == [1.0, 2.0]
                assert (each.tolist(), each[0].item()) == ([1.0, 2.0], 1.0)
        with mode(), interlock.enable_grad(), pytest.raises(RuntimeError, match="detach"):
            x.numpy()
        with pytest.raises(BufferError, match="detach"):
            memoryview(x)


def test_multithreading_and_view_replay_modes_can_be_read() -> None:
    asked = interlock.autograd.is_multithreading_enabled, interlock.autograd.is_view_replay_enabled
    assert [query() for query in asked] == [True, False]
    with interlock.set_multithreading_enabled(False), interlock.autograd._force_original_view_tracking(True):
        assert [query() for query in asked] == [False, True]
    with interlock.inference_mode():
        assert [query() for query in asked] == [False, False]
    assert [query() for query in asked] == [True, False]
