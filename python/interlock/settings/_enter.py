"""The enter of a scope: it writes all its settings, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.errors import SettingValueError
from interlock.settings import _lookup, _registry
from interlock.settings._apply import apply
from interlock.settings._leave import leave
from interlock.settings._locks import LONGEST_WAIT, busy, locks_of, try_locked
from interlock.settings._pins import look_locked
from interlock.settings._scopes import (
    Level,
    Scope,
    ThirdValue,
    chain,
    held,
    holders_of_others,
    innermost,
    open_by_id,
    reads_value_of,
    thread_scopes,
)
from interlock.settings._setting import Extent, Setting, Unreadable, read, reason_of
from interlock.settings._writes import LOG, Write, same, shown


def _blockers(name: str, value: Any, own: Sequence[Scope]) -> list[Scope]:
    """Return the scopes that must end before a scope of the chain `own` may hold a setting with a value.

    Those of another value come first. A scope that is not of the holder joins none that nests in another
    one: it would keep the inner value after the holder has returned to the outer one.
    """
    levels = held.get(name)
    if levels is None:
        return []
    *below, top = levels
    blocking: list[Scope] = []
    if not same(top.wanted, value):
        # Nothing may change a pinned value, not even a scope inside of the pin.
        blocking += [each for each in top.members if each not in own or each.on_write is not None]
    return blocking + [each for level in reversed(below) for each in level.members if each not in own]


def _conflicts(scope: Scope, own: Sequence[Scope]) -> dict[str, list[Scope]]:
    """Return the blockers of each setting of the process that a scope wants."""
    found = {
        name: _blockers(name, value, own) for name, value in scope.values.items() if _is_of_process(name)
    }
    return {name: blocking for name, blocking in found.items() if blocking}


def _is_of_process(name: str) -> bool:
    return _lookup.get("override", name).extent == Extent.PROCESS


def enter_pin(scope: Scope) -> tuple[dict[str, list[Scope]], list[Write]]:
    """Enter a pin as `try_to_enter` does, or raise `SettingConflictError` if another thread keeps a lock."""
    found = try_to_enter(scope, nest=False, seconds=LONGEST_WAIT)
    if found is None:
        raise busy(scope.kind, scope.values)
    return found


def try_to_enter(
    scope: Scope, *, nest: bool, seconds: float
) -> tuple[dict[str, list[Scope]], list[Write]] | None:
    """Enter a scope: write all its settings, or none if another scope holds one with another value.

    Args:
        scope: The scope.
        nest: Whether scopes that this context opens later nest in it.
        seconds: How long to wait for another thread that reads or writes one of the settings.

    Returns:
        The blockers of each setting in conflict, and the writes if there is none; None if the other thread
        did not end in time.

    """
    settings = [_lookup.get("override", name) for name in scope.values]
    scope.locks = locks_of(settings)
    found = try_locked(scope.locks, seconds, _enter, scope, settings, nest)
    return None if found is NotImplemented else found


def _enter(
    scope: Scope, settings: Sequence[Setting], nest: bool
) -> tuple[dict[str, list[Scope]], list[Write]]:
    own = chain()
    blocking = _conflicts(scope, own)
    if blocking:
        return blocking, []
    third_values = dict[str, ThirdValue]()
    for setting in settings:
        _check_readable(scope, setting, look_locked(setting))
        if (third := _third_value(setting)) is not None:
            third_values[setting.name] = third
    writes: list[Write] = []
    try:
        # First, because a signal handler may open scopes at any line below: they nest in this one.
        scope.is_open = True
        open_by_id[id(scope)] = scope
        if nest:
            scope.parent = innermost.get()
            innermost.set(scope)
        for setting in settings:
            name = setting.name
            writes += _hold(scope, setting, scope.values[name], third_values.get(name))
        blocking = _disturbed(scope, settings, own)
        if blocking:
            leave(scope)
        return blocking, [] if blocking else writes
    except BaseException as error:
        try:
            leave(scope)
        except Exception as other:
            error.add_note(f"and {other}")
        raise


def _check_readable(scope: Scope, setting: Setting, value: Any) -> None:
    """Refuse a setting that could not be put back, because its value is not known."""
    # The scope that holds it knows its value. A library may refuse to read a setting beside the values of
    # related ones, which are put back then.
    is_known = setting.name in held or len(_registry.relatives(setting)) > 1
    if isinstance(value, Unreadable) and not is_known:
        raise SettingValueError(
            f"{scope.kind}: {setting.name} could not be put back, because it cannot be read: {value.reason}",
            setting=setting.name,
        )


def _third_value(setting: Setting) -> ThirdValue | None:
    """Return the value of a setting of the process if it is not the one that a scope holds."""
    name = setting.name
    if name not in held:
        return None
    current, top = LOG.look(setting), held[name][-1]
    if isinstance(current, Unreadable) or not reads_value_of(setting, top) or same(current, top.value):
        return None
    return ThirdValue(current, LOG.last(name), holders_of_others(setting))


def _hold(scope: Scope, setting: Setting, value: Any, third: ThirdValue | None) -> list[Write]:
    """Write one setting for a scope and store the value to restore."""
    name, current = setting.name, LOG.look(setting)
    if setting.extent != Extent.PROCESS:
        key = name, scope.thread_id
        if setting.extent == Extent.THREAD:
            thread_scopes[key] = [*thread_scopes.get(key, []), scope]
        scope.before[name] = current
        return _apply(scope, setting, value)
    if third is not None:
        scope.third_values[name] = third
    levels = held.get(name, [])
    if levels and same(levels[-1].wanted, value):
        levels[-1].members += (scope,)
        return [] if third is None else _apply(scope, setting, value)
    level = Level(value, value, (scope,), current, is_written=same(current, value))
    held[name] = [*levels, level]
    if level.is_written:
        return []
    writes = _apply(scope, setting, value, level)
    related = {write.setting: (write.old, write.new) for write in writes}
    _, level.value = related.pop(name)
    level.related = related
    level.is_written = True
    return writes


def _apply(scope: Scope, setting: Setting, value: Any, level: Level | None = None) -> list[Write]:
    try:
        return apply(setting, value, scope.origin, level=level)
    except Exception as error:
        # The text of a library rarely names the setting.
        raise SettingValueError(
            f"{scope.kind}: {setting.name} does not accept {shown(value)}: {reason_of(error)}",
            setting=setting.name,
        ) from error


def _disturbed(scope: Scope, settings: Sequence[Setting], own: Sequence[Scope]) -> dict[str, list[Scope]]:
    """Return the blockers of settings that other scopes hold and that a scope has changed by an alias."""
    found = {}
    for setting in settings:
        for other in _registry.relatives(setting):
            levels = held.get(other.name)
            if levels is None or other is setting or not reads_value_of(other, levels[-1]):
                continue
            if same(read(other), levels[-1].value):
                continue
            foreign = [
                each
                for each in levels[-1].members
                if each is not scope and (each not in own or each.on_write is not None)
            ]
            if foreign:
                found[other.name] = foreign
    return found
