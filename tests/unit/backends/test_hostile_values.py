"""Values with hostile methods are refused like any other wrong value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from interlock import backends, errors, state

pytestmark = pytest.mark.usefixtures("restored")


class RaisesWhenShown:
    def __repr__(self) -> str:
        raise LookupError


class InterruptsWhenShown:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def containing_itself() -> list[Any]:
    value: list[Any] = [True]
    value.append(value)
    return value


HOSTILE: dict[str, Any] = {
    "contains itself": containing_itself(),
    "100,000 deep": nested(100_000),
    "a repr that raises": RaisesWhenShown(),
    "a repr of megabytes": "x" * 5_000_000,
    "a class": RaisesWhenShown,
    "a surrogate": "\ud800",
    "a list of everything": [None, b"", {}, RaisesWhenShown()],
}


@pytest.mark.parametrize("name", ["cudnn.enabled", "cuda.matmul.allow_bf16_reduced_precision_reduction"])
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_value_is_a_wrong_type_and_changes_nothing(name: str, value: Any) -> None:
    before = backends.snapshot()
    with pytest.raises(errors.FlagTypeError, match=name.replace(".", r"\.")):
        backends.override({name: value})  # type: ignore[misc]
    assert backends.snapshot() == before


def test_interrupt_in_the_repr_of_a_value_propagates() -> None:
    with pytest.raises(KeyboardInterrupt):
        backends.cudnn.enabled = InterruptsWhenShown()  # type: ignore[assignment]
    assert backends.cudnn.enabled is True


def test_value_may_change_its_own_dict_during_the_call() -> None:
    values: dict[str, Any] = {}

    class Removes:
        def __repr__(self) -> str:
            values.clear()
            return "gone"

    values.update({"cudnn.enabled": Removes(), "cudnn.benchmark": True})
    with pytest.raises(errors.FlagTypeError):
        backends._native.FlagScope(values)  # type: ignore[attr-defined]


def test_name_of_another_type_is_an_unknown_flag() -> None:
    with pytest.raises(AttributeError):
        setattr(backends.cudnn, "\ud800", True)
    with pytest.raises(errors.UnknownFlagError):
        backends.explain("\ud800")


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([("nope", 1, "process")], errors.UnknownFlagError),
        ([("cudnn.enabled", False, "proces")], errors.FlagValueError),
        ([("cudnn.enabled", False)], errors.FlagTypeError),
        ([5], errors.FlagTypeError),
        ([(5, False, "process")], errors.FlagTypeError),
        ([("cudnn.enabled", "no", "process")], errors.FlagTypeError),
    ],
)
def test_restore_of_a_hostile_object_changes_nothing(entries: list[Any], kind: type[Exception]) -> None:
    backends.cudnn.benchmark = True
    before = backends.snapshot()
    with pytest.raises(kind):
        backends.restore(entries)
    assert backends.snapshot() == before


def test_read_only_flag_is_reported_for_any_value() -> None:
    for value in (True, 1, "x"):
        with pytest.raises(errors.ReadOnlyFlagError, match="is read-only"):
            backends.cuda.matmul.allow_fp16_reduced_precision_reduction_split_k = value  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("backends.reset", backends.reset),
        ("backends.restore", lambda: backends.restore(backends.snapshot())),
        ("state.set_process_defaults", lambda: state.set_process_defaults(grad_enabled=True)),
    ],
)
def test_function_that_a_freeze_refuses_is_named(name: str, call: Callable[[], object]) -> None:
    message = f"^{name} cannot change flags: they were frozen at .*test_hostile"
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError, match=message):
        call()
