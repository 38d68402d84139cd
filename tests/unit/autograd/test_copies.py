"""Modes can be copied and pickled, also inside other objects; a copy writes nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import autograd
from interlock.autograd import grad_mode

from tests.helpers.modes import anomaly_and_hooks
from tests.unit.autograd.mode_cases import START, public_modes


class Labelled(interlock.set_grad_enabled):
    """A subclass with its own attributes and constructor."""

    def __init__(self, label: str) -> None:
        super().__init__(False)
        self.label = label


def through_pickle(protocol: int) -> Callable[[Any], Any]:
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {each}": through_pickle(each) for each in range(pickle.HIGHEST_PROTOCOL + 1)},
}
EACH_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def taken_back(scope: Any) -> Any:
    """Revert the write of a new object, so that it is only a scope."""
    with scope:
        pass
    return scope


@EACH_WAY
@pytest.mark.parametrize(
    "make",
    [
        interlock.no_grad,
        interlock.enable_grad,
        lambda: interlock.set_grad_enabled(False),
        lambda: interlock.inference_mode(False),
        interlock.inference_mode,
        lambda: grad_mode.set_multithreading_enabled(False),
        lambda: grad_mode.enforce_grad_layout_policy(False),
    ],
)
def test_copy_of_a_mode_behaves_like_the_original(way: Callable[[Any], Any], make: Any) -> None:
    original = taken_back(make())
    made = way(original)
    assert public_modes() == START
    assert type(made) is type(original)
    assert made is not original
    with original:
        inside = public_modes()
    with made:
        assert public_modes() == inside
    assert public_modes() == START


@EACH_WAY
def test_copy_of_a_subclass_keeps_its_attributes(way: Callable[[Any], Any]) -> None:
    made = way(taken_back(Labelled("text")))
    assert public_modes() == START
    assert (type(made), made.label, made.mode) == (Labelled, "text", False)


class Named(autograd.set_detect_anomaly):
    """A subclass with its own attributes and constructor."""

    def __init__(self, label: str) -> None:
        super().__init__(True, False)
        self.label = label


@EACH_WAY
@pytest.mark.parametrize(
    "make",
    [
        lambda: autograd.set_detect_anomaly(True, False),
        lambda: autograd.detect_anomaly(False),
        lambda: autograd.graph.disable_saved_tensors_hooks("not here"),
        lambda: Named("text"),
    ],
    ids=["set_detect_anomaly", "detect_anomaly", "disable_saved_tensors_hooks", "subclass"],
)
def test_copy_of_a_scope_is_not_open_and_ends_alone(way: Callable[[Any], Any], make: Any) -> None:
    start = anomaly_and_hooks()
    original = taken_back(make())
    with original:
        inside = anomaly_and_hooks()
        assert inside != start
        made = way(original)
    assert anomaly_and_hooks() == start
    with made:
        assert anomaly_and_hooks() == inside
        with original:
            pass
        assert anomaly_and_hooks() == inside
    assert anomaly_and_hooks() == start
    assert (type(made), repr(made)) == (type(original), repr(original))
    assert getattr(made, "label", None) == getattr(original, "label", None)


@pytest.mark.parametrize("state", [None, 5, (True,), (1, {}), (True, 5), ()])
def test_state_that_no_mode_has_is_refused(state: Any) -> None:
    mode = interlock.inference_mode(False)
    with pytest.raises((TypeError, ValueError)):
        mode.__setstate__(state)
    assert mode.mode is False
