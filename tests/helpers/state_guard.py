"""A fixture that fails a test which leaves a changed flag, scope or mode behind."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest

from tests.unit.backends.flag_specs import read_all


def state() -> dict[str, object]:
    """Return the assigned flags, the effective flags of this thread, and its modes."""
    return {
        "assigned": [entry for entry in interlock.backends.snapshot() if entry.level == "process"],
        "frozen": interlock.backends.flags_frozen(),
        "grad": interlock.is_grad_enabled(),
        "inference": interlock.is_inference_mode_enabled(),
        "num_threads": interlock.get_num_threads(),
        "thread": repr(interlock.capture()),
        **read_all(),
    }


@pytest.fixture(autouse=True)
def no_leak() -> Iterator[None]:
    """Fail the test if it changed the state."""
    before = state()
    yield
    after = state()
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert not changed, f"this test left something behind (before, after): {changed}"
