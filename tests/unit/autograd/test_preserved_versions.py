"""Versions of tensors are restored after any changes, also for mixed tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import _unsafe_preserve_version_counter as preserve

from tests.helpers.ids import stable_repr
from tests.helpers.thread_worker import Worker


def changed(times: int = 1) -> Tensor:
    """Return a tensor with this version."""
    tensor = interlock.ones(2)
    for _ in range(times):
        tensor.add_(1)
    return tensor


def inference() -> Tensor:
    with interlock.inference_mode():
        return interlock.ones(2)


@pytest.fixture
def mixed() -> tuple[Tensor, ...]:
    """Return tensors with their own version, with a shared one, and with none."""
    first = changed(3)
    return first, inference(), changed(0), first[:1], inference()[0]


def versions(tensors: tuple[Tensor, ...]) -> list[int | None]:
    return [None if tensor.is_inference() else tensor._version for tensor in tensors]


def change_all(tensors: tuple[Tensor, ...]) -> None:
    with interlock.inference_mode():
        for tensor in tensors:
            tensor.add_(1)


def test_backward_pass_uses_the_changed_values() -> None:
    x = interlock.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    with preserve(y), interlock.no_grad():
        y.mul_(2)
    assert y._version == 0
    z.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [16.0, 16.0, 16.0]


@pytest.mark.parametrize("given", [tuple, list, iter], ids=lambda given: given.__name__)
def test_tensors_with_and_without_a_version_may_be_mixed(
    given: Callable[[Any], Any], mixed: tuple[Tensor, ...]
) -> None:
    scope = preserve(given(mixed))
    assert all(kept is tensor for kept, tensor in zip(scope.tensors, mixed, strict=True))
    assert scope.prev_versions == (3, None, 0, 3, None)
    with scope as entered:
        assert entered is None
        change_all(mixed)
        assert versions(mixed) == [5, None, 1, 5, None]
    assert versions(mixed) == [3, None, 0, 3, None]
    assert mixed[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("make", [changed, inference])
def test_one_tensor_needs_no_tuple(make: Callable[[], Tensor]) -> None:
    tensor = make()
    with preserve(tensor):
        change_all((tensor,))
    assert versions((tensor,)) == ([1] if make is changed else [None])


def test_versions_are_restored_after_an_exception(mixed: tuple[Tensor, ...]) -> None:
    @preserve(mixed)
    def fail() -> None:
        change_all(mixed)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert versions(mixed) == [3, None, 0, 3, None]


def test_one_object_may_be_entered_again_while_it_is_open_and_after_it() -> None:
    tensor = changed()
    scope = preserve(tensor)
    with scope:
        tensor.add_(1)
        with scope:
            assert scope.prev_versions == (2,)
            tensor.add_(1)
        assert tensor._version == 2
    assert tensor._version == 1
    tensor.add_(1)
    with scope:
        tensor.add_(1)
    assert tensor._version == 2, "changes before the entry are not reverted"
    scope.__exit__(None, None, None)
    assert tensor._version == 2, "no scope is open any more"


def test_overlapping_threads_restore_the_version_of_the_first(workers: tuple[Worker, Worker]) -> None:
    tensor = changed()
    scope = preserve(tensor)
    for worker in workers:
        worker.do(scope.__enter__)
        worker.do(lambda: tensor.add_(1))
    for worker in workers:
        worker.do(lambda: scope.__exit__(None, None, None))
    assert tensor._version == 1


def test_decorated_function_and_generator_hide_only_their_changes() -> None:
    tensor = changed()

    @preserve(tensor)
    def function() -> None:
        tensor.add_(1)

    @preserve(tensor)
    def generator() -> Iterator[int]:
        while True:
            tensor.add_(1)
            yield tensor._version

    seen = generator()
    for version in (1, 2):
        function()
        assert (next(seen), tensor._version) == (version + 1, version)
        tensor.add_(1)


def test_clone_keeps_the_tensors(mixed: tuple[Tensor, ...]) -> None:
    scope = preserve(mixed)
    copy = scope.clone()
    assert (type(copy), copy.tensors) == (preserve, scope.tensors)


@pytest.mark.parametrize("wrong", [[None], (interlock.ones(1), 3), "text"], ids=stable_repr)
def test_other_objects_are_refused_as_tensors(wrong: Any) -> None:
    with pytest.raises(TypeError, match="each item of tensors must be a Tensor, got"):
        preserve(wrong)
