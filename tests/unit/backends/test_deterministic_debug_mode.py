"""`set_deterministic_debug_mode` and `get_deterministic_debug_mode` on top of two flags."""

from __future__ import annotations

from typing import Any

import interlock
import pytest
from interlock import backends, errors

pytestmark = pytest.mark.usefixtures("restored")

MODE, WARN_ONLY = "deterministic_algorithms", "deterministic_algorithms_warn_only"
MODES = {0: (False, False), 1: (True, True), 2: (True, False)}
SPELLINGS = {0: 0, 1: 1, 2: 2, "default": 0, "warn": 1, "error": 2}


def read() -> tuple[bool, bool]:
    """Return the two flags as read by the older functions."""
    return (
        interlock.are_deterministic_algorithms_enabled(),
        interlock.is_deterministic_algorithms_warn_only_enabled(),
    )


@pytest.mark.parametrize("before", MODES)
@pytest.mark.parametrize(("given", "number"), [*SPELLINGS.items(), (False, 0), (True, 1)])
def test_debug_mode_writes_both_flags(given: Any, number: int, before: Any) -> None:
    interlock.set_deterministic_debug_mode(before)
    interlock.set_deterministic_debug_mode(given)
    assert interlock.get_deterministic_debug_mode() == number
    assert read() == MODES[number]


@pytest.mark.parametrize(("mode", "warn_only"), [(False, False), (False, True), (True, False), (True, True)])
def test_debug_mode_reads_the_value_of_use_deterministic_algorithms(mode: bool, warn_only: bool) -> None:
    interlock.use_deterministic_algorithms(mode, warn_only=warn_only)
    assert interlock.get_deterministic_debug_mode() == (0 if not mode else 1 if warn_only else 2)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (3, errors.FlagValueError),
        (-1, errors.FlagValueError),
        (2**70, errors.FlagValueError),
        ("Warn", errors.FlagValueError),
        ("x" * 10**6, errors.FlagValueError),
        (1.0, errors.FlagTypeError),
        (None, errors.FlagTypeError),
        (b"warn", errors.FlagTypeError),
    ],
)
def test_debug_mode_refuses_other_values_and_changes_nothing(wrong: Any, error: type[Exception]) -> None:
    interlock.set_deterministic_debug_mode("warn")
    with pytest.raises(error, match=r"^set_deterministic_debug_mode: debug_mode must be") as caught:
        interlock.set_deterministic_debug_mode(wrong)
    assert isinstance(caught.value, RuntimeError | TypeError), "the type that PyTorch raises"
    assert len(str(caught.value)) < 300
    assert interlock.get_deterministic_debug_mode() == 1


def test_debug_mode_is_written_into_the_scope_that_owns_it() -> None:
    with backends.override({MODE: False, WARN_ONLY: False}):
        interlock.set_deterministic_debug_mode("error")
        assert interlock.get_deterministic_debug_mode() == 2
    assert interlock.get_deterministic_debug_mode() == 0


def test_debug_mode_is_refused_while_flags_are_frozen() -> None:
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError):
        interlock.set_deterministic_debug_mode(2)
    assert read() == MODES[0]
