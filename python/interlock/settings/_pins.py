"""Reads of settings that may be pinned, and writes of pinned ones, which are undone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from interlock.errors import SettingPinnedError
from interlock.settings._apply import write_unrecorded
from interlock.settings._locks import locks_of, try_locked
from interlock.settings._scopes import Scope, held
from interlock.settings._setting import Setting, read
from interlock.settings._writes import LOG, same, shown


def _pinned(name: str) -> tuple[Scope, Any] | None:
    """Return the pin of a setting, and the value that it keeps."""
    if name not in held:
        return None
    top = held[name][-1]
    return None if top.pin is None else (top.pin, top.value)


def refused(setting: Setting, value: Any, written_by: str) -> Callable[[], None] | None:
    """Undo a write of a pinned setting.

    Returns:
        What reports the write after the lock was released; None if the setting is not pinned to another
        value.

    """
    found = _pinned(setting.name)
    if found is None or same(found[1], value):
        return None
    pin, wanted = found
    write = setting.restore or setting.set
    assert write is not None, "a read-only setting cannot be pinned"
    write_unrecorded(write, wanted)
    LOG.remember(setting, read(setting))
    message = f"{setting.name} is {pin.describe(setting.name)}; {written_by} {shown(value)}"

    def report() -> None:
        if pin.on_write == "raise":
            raise SettingPinnedError(f"{message} is refused")
        if pin.on_write == "warn":
            pin.warn(f"{message} was undone")

    return report


def look(setting: Setting) -> Any:
    """Read a setting, record a change without a recorded write, and undo it if the setting is pinned.

    If another thread reads or writes the setting now, nothing is recorded or undone.
    """
    found = try_locked(locks_of((setting,)), 0.0, look_locked, setting)
    return read(setting) if found is NotImplemented else found


def look_locked(setting: Setting) -> Any:
    """Look at a setting with its lock held."""
    value = LOG.look(setting)
    found = _pinned(setting.name)
    if found is None or (setting.per_thread_reads and threading.get_ident() != found[0].thread_id):
        return value
    pin, wanted = found
    if refused(setting, value, "") is None:
        return value
    if pin.on_write != "ignore":
        message = f"{setting.name} is {pin.describe(setting.name)}; code that cannot be seen wrote"
        pin.warn(f"{message} {shown(value)}, which was undone")
    return wanted
