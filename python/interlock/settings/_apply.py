"""Writes of settings by scopes and pins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from interlock.settings import _registry
from interlock.settings._origin import Origin
from interlock.settings._scopes import Level
from interlock.settings._setting import Setting, Unreadable, read, reason_of
from interlock.settings._writes import LOG, Write, same, shown


class _Applying(threading.local):
    active = False


_applying = _Applying()


def is_applying() -> bool:
    """Return whether this thread writes a setting for a scope, which is recorded with the scope's line."""
    return _applying.active


def write_unrecorded(write: Callable[[Any], object], value: Any) -> None:
    """Call the setter of a library, whose observer then records nothing."""
    # No context manager: an interrupt between its functions would leave the mark.
    before, _applying.active = _applying.active, True
    try:
        write(value)
    finally:
        _applying.active = before


def apply(
    setting: Setting, value: Any, origin: Origin, *, back: bool = False, level: Level | None = None
) -> list[Write]:
    """Write a setting with its lock held, and record the change with the line of the scope that causes it.

    Args:
        setting: The setting, which is not read-only.
        value: The value to write.
        origin: The line to record.
        back: Whether an earlier value is restored.
        level: What stores the values of related settings before the write.

    """
    write = setting.restore if back and setting.restore is not None else setting.set
    assert write is not None
    compared = _registry.relatives(setting)
    before = [LOG.look(each) for each in compared]
    if level is not None:
        pairs = zip(compared, before, strict=True)
        level.related = {each.name: (old, old) for each, old in pairs if each is not setting}
    try:
        write_unrecorded(write, value)
        after = [read(each) for each in compared]
        return [
            LOG.add(each, old, new, origin)
            for each, old, new in zip(compared, before, after, strict=True)
            if each is setting or not same(old, new)
        ]
    except BaseException as error:
        if not back:
            _undo(setting, compared, before, error)
        raise


def _undo(refused: Setting, settings: Sequence[Setting], before: Sequence[Any], error: BaseException) -> None:
    """Put back what a library has stored before it raised an error.

    The setting that it refused comes first, because its write may change the others.
    """
    pairs = zip(settings, before, strict=True)
    for setting, old in sorted(pairs, key=lambda pair: pair[0] is not refused):
        write = setting.restore or setting.set
        if write is None or isinstance(old, Unreadable) or same(read(setting), old):
            continue
        try:
            write_unrecorded(write, old)
        except Exception as other:
            error.add_note(f"and {setting.name} could not be put back to {shown(old)}: {reason_of(other)}")
