"""A fixture that fails the test that leaves a flag, a scope or a mode behind."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest

from tests.unit.backends.flag_specs import read_all


def state() -> dict[str, object]:
    """What is assigned for the process, the flags as this thread sees them, and this thread's modes."""
    return {
        "assigned": [entry for entry in interlock.backends.snapshot() if entry.level == "process"],
        "frozen": interlock.backends.flags_frozen(),
        "grad": interlock.is_grad_enabled(),
        "inference": interlock.is_inference_mode_enabled(),
        "thread": repr(interlock.capture()),
        **read_all(),
    }


@pytest.fixture(autouse=True)
def no_leak() -> Iterator[None]:
    """Compare the state before and after the test."""
    before = state()
    yield
    after = state()
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert not changed, f"this test left something behind (before, after): {changed}"
