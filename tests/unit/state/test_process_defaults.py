"""Modes and devices of the process, below every context and thread."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import interlock
import pytest
from interlock import backends, state

from tests.helpers.contexts import in_a_new_context


@pytest.fixture(autouse=True)
def unset() -> Iterator[None]:
    yield
    backends.reset()


def on_a_thread(function: Any) -> Any:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(function()))
    thread.start()
    thread.join()
    return seen[0]


@in_a_new_context
def test_mode_holds_in_every_context_and_below_scopes_and_writes() -> None:
    kept = contextvars.copy_context()
    state.set_process_defaults(grad_enabled=False)
    seen = interlock.is_grad_enabled
    assert [seen(), kept.run(seen), contextvars.Context().run(seen), on_a_thread(seen)] == [False] * 4
    with interlock.enable_grad():
        assert seen()

    def write() -> bool:
        interlock.set_grad_enabled(True)
        return seen()

    assert contextvars.copy_context().run(write)
    assert not seen()
    state.set_process_defaults(grad_enabled=None)
    assert seen()


@in_a_new_context
def test_inference_mode_sets_what_its_scope_sets() -> None:
    state.set_process_defaults(inference_mode=True)
    assert (interlock.is_inference_mode_enabled(), interlock.is_grad_enabled()) == (True, False)
    assert state.process_defaults()["inference_mode"] is True


@in_a_new_context
def test_devices_hold_on_every_thread() -> None:
    state.set_process_defaults(default_device="meta")
    assert interlock.get_default_device().type == "meta"
    assert on_a_thread(interlock.get_default_device).type == "meta"
    assert state.process_defaults()["default_device"] == "meta"


def test_wrong_values_change_nothing() -> None:
    with pytest.raises(TypeError, match="set_process_defaults: grad_enabled must be a bool or None, got int"):
        state.set_process_defaults(multithreading_enabled=False, grad_enabled=1)  # type: ignore[arg-type]
    with pytest.raises(interlock.errors.DeviceError, match="index must be a number from 0 to 127"):
        state.set_process_defaults(grad_enabled=False, device_index=128)
    with backends.frozen(), pytest.raises(interlock.errors.FlagsFrozenError):
        state.set_process_defaults(grad_enabled=False)
    assert set(state.process_defaults().values()) == {None}


@in_a_new_context
def test_snapshot_and_explain_have_the_values() -> None:
    before = backends.snapshot()
    state.set_process_defaults(grad_enabled=False, device_index=1)
    entries = backends.snapshot()[len(before) :]
    assert entries == (("state.grad", False, "process"), ("state.device_index", 1, "process"))
    assert backends.explain("state.grad")[:3] == ("state.grad", False, backends.Level.PROCESS)
    changed = backends.snapshot()
    backends.restore(before)
    assert interlock.is_grad_enabled()
    backends.restore([list(entry) for entry in changed])
    assert not interlock.is_grad_enabled()
