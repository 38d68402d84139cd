"""The scopes that hold settings of the process, and the writes that scopes and pins make.

A setting of the process has one value, so scopes that want different values cannot be open at one time. Its
levels are nested scopes of one holder, the innermost last. A level is shared by scopes with equal values. The
holder is a context: a scope belongs to it if its context has the holder's scopes in its chain, which a
context gets by being the same or by being copied inside of them.

Signal handlers, interrupts and forks of other threads may come between any two steps below. So each table and
each list in one is replaced by one assignment, a scope is in `_open` before it holds something, and its exit
finds what an enter or an earlier exit has done and leaves no step out when it is repeated.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interlock.errors import SettingPinnedError, SettingValueError, SettingWarning
from interlock.settings import _registry
from interlock.settings._locks import LONGEST_WAIT, Locks, busy, call_locked, locks_of, try_locked
from interlock.settings._origin import Origin
from interlock.settings._setting import Extent, Setting, Unreadable, read, reason_of
from interlock.settings._writes import LOG, Write, same, shown

_innermost: contextvars.ContextVar[Scope | None] = contextvars.ContextVar(
    "interlock_setting_scope", default=None
)


class Scope:
    """One entered `override`, or one `pin`."""

    def __init__(
        self, kind: str, values: Mapping[str, Any], origin: Origin, on_write: str | None = None
    ) -> None:
        self.kind = kind
        self.values = dict(values)
        self.origin = origin
        self.thread_id = threading.get_ident()
        self.on_write = on_write
        """For a pin, what happens on a write by other code; None for an override."""
        self.parent: Scope | None = None
        self.is_open = False
        self.locks: Locks = ()
        """The locks of its settings."""
        self.before: dict[str, Any] = {}
        """The values to restore, of settings of a thread or a context."""
        self.third_values: dict[str, ThirdValue] = {}
        """The values to restore, of settings of the process that other code set while scopes held them."""
        self.failed: dict[str, tuple[Any, Any]] = {}
        """The present and the earlier value of settings that a library did not restore."""
        self.has_context: Callable[[], bool] = lambda: True
        """Whether the context that entered the scope still exists, if that is known."""

    def describe(self, name: str) -> str:
        """Return the value, line and thread of the scope for a message."""
        verb = "pinned to" if self.on_write is not None else "held with the value"
        value = shown(self.values[name])
        return f"{verb} {value} by the {self.kind} at {self.origin} (thread {self.origin.thread})"


class ThirdValue(NamedTuple):
    """A value that other code has set while scopes held the setting with another one."""

    value: Any
    write: Write | None
    """The last write that is known."""
    others: tuple[Scope, ...]
    """The scopes that hold other settings of the family, and whose writes may have caused the value."""


@dataclass
class Level:
    """The value of one or more scopes with equal values."""

    wanted: Any
    value: Any
    """The value that reading returns after `wanted` was written."""
    members: tuple[Scope, ...]
    before: Any
    """The value to restore when no scope holds the setting any more, in the first level."""
    related: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """The old and new values of other settings of the family that the write changed."""
    is_written: bool = True
    """Whether the write has ended. Until then `value` and the new values of `related` are not known."""

    @property
    def pin(self) -> Scope | None:
        """The pin among the members."""
        return next((each for each in self.members if each.on_write is not None), None)


# The levels of the settings of the process that are held.
_holds: dict[str, list[Level]] = {}
# The open scopes of a setting of a thread, by setting and thread, the innermost last.
_thread_scopes: dict[tuple[str, int], list[Scope]] = {}
# The scopes and pins that are open in any context, by identity, in the order in which they were entered.
_open: weakref.WeakValueDictionary[int, Scope] = weakref.WeakValueDictionary()
# Called once a scope has released a setting.
wakers: list[Callable[[], None]] = []


class _Applying(threading.local):
    active = False


_applying = _Applying()


def is_applying() -> bool:
    """Return whether this thread writes a setting for a scope, which is recorded with the scope's line."""
    return _applying.active


def _write_unrecorded(write: Callable[[Any], object], value: Any) -> None:
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
        _write_unrecorded(write, value)
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
            _write_unrecorded(write, old)
        except Exception as other:
            error.add_note(f"and {setting.name} could not be put back to {shown(old)}: {reason_of(other)}")


def chain() -> list[Scope]:
    """Return the open scopes of this context, the innermost first."""
    found, scope = [], _innermost.get()
    while scope is not None:
        if scope.is_open:
            found.append(scope)
        scope = scope.parent
    return found


def blockers(name: str, value: Any, own: Sequence[Scope]) -> list[Scope]:
    """Return the scopes that must end before a scope of the chain `own` may hold a setting with a value.

    Those of another value come first. A scope that is not of the holder joins none that nests in another
    one: it would keep the inner value after the holder has returned to the outer one.
    """
    levels = _holds.get(name)
    if levels is None:
        return []
    *below, top = levels
    blocking: list[Scope] = []
    if not same(top.wanted, value):
        # Nothing may change a pinned value, not even a scope inside of the pin.
        blocking += [each for each in top.members if each not in own or each.on_write is not None]
    return blocking + [each for level in reversed(below) for each in level.members if each not in own]


def conflicts(scope: Scope, own: Sequence[Scope]) -> dict[str, list[Scope]]:
    """Return the blockers of each setting of the process that a scope wants."""
    found = {name: blockers(name, value, own) for name, value in scope.values.items() if _is_of_process(name)}
    return {name: blocking for name, blocking in found.items() if blocking}


def _is_of_process(name: str) -> bool:
    return _registry.get("override", name).extent == Extent.PROCESS


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
    settings = [_registry.get("override", name) for name in scope.values]
    scope.locks = locks_of(settings)
    found = try_locked(scope.locks, seconds, _enter, scope, settings, nest)
    return None if found is NotImplemented else found


def _enter(
    scope: Scope, settings: Sequence[Setting], nest: bool
) -> tuple[dict[str, list[Scope]], list[Write]]:
    own = chain()
    blocking = conflicts(scope, own)
    if blocking:
        return blocking, []
    third_values = dict[str, ThirdValue]()
    for setting in settings:
        _check_readable(scope, setting, _look(setting))
        if (third := _third_value(setting)) is not None:
            third_values[setting.name] = third
    writes: list[Write] = []
    try:
        # First, because a signal handler may open scopes at any line below: they nest in this one.
        scope.is_open = True
        _open[id(scope)] = scope
        if nest:
            scope.parent = _innermost.get()
            _innermost.set(scope)
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
    is_known = setting.name in _holds or len(_registry.relatives(setting)) > 1
    if isinstance(value, Unreadable) and not is_known:
        raise SettingValueError(
            f"{scope.kind}: {setting.name} could not be put back, because it cannot be read: {value.reason}",
            setting=setting.name,
        )


def _third_value(setting: Setting) -> ThirdValue | None:
    """Return the value of a setting of the process if it is not the one that a scope holds."""
    name = setting.name
    if name not in _holds:
        return None
    current, top = LOG.look(setting), _holds[name][-1]
    if isinstance(current, Unreadable) or not _reads_value_of(setting, top) or same(current, top.value):
        return None
    return ThirdValue(current, LOG.last(name), _holders_of_others(setting))


def _holders_of_others(setting: Setting) -> tuple[Scope, ...]:
    relatives = _registry.relatives(setting)
    return tuple(scope for each in relatives if each is not setting for scope in holders(each.name))


def _hold(scope: Scope, setting: Setting, value: Any, third: ThirdValue | None) -> list[Write]:
    """Write one setting for a scope and store the value to restore."""
    name, current = setting.name, LOG.look(setting)
    if setting.extent != Extent.PROCESS:
        key = name, scope.thread_id
        if setting.extent == Extent.THREAD:
            _thread_scopes[key] = [*_thread_scopes.get(key, []), scope]
        scope.before[name] = current
        return _apply(scope, setting, value)
    if third is not None:
        scope.third_values[name] = third
    levels = _holds.get(name, [])
    if levels and same(levels[-1].wanted, value):
        levels[-1].members += (scope,)
        return [] if third is None else _apply(scope, setting, value)
    level = Level(value, value, (scope,), current, is_written=same(current, value))
    _holds[name] = [*levels, level]
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
            levels = _holds.get(other.name)
            if levels is None or other is setting or not _reads_value_of(other, levels[-1]):
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


def _reads_value_of(setting: Setting, level: Level) -> bool:
    """Return whether this thread reads the value that a scope has written, not one of its own."""
    here = threading.get_ident()
    return not setting.per_thread_reads or any(each.thread_id == here for each in level.members)


def leave(scope: Scope) -> list[Write]:
    """Exit a scope: restore the previous values where no other scope needs the present ones.

    Returns:
        The writes.

    Raises:
        SettingValueError: The library refused a value. All other settings are restored. The next call tries
            it again.

    """
    if sys.is_finalizing():
        # A generator that was left suspended exits it now, when the modules of its library may be unloaded.
        return []
    writes: list[Write] = call_locked(scope.locks, _leave_or_repeat, scope)
    return writes


def _leave_or_repeat(scope: Scope) -> list[Write]:
    is_inside = scope in chain()
    try:
        return _leave(scope, is_inside=is_inside)
    except Exception:
        raise
    except BaseException:
        # An interrupt, such as `KeyboardInterrupt`. The second call releases and puts back what remains.
        _leave(scope, is_inside=is_inside)
        raise


def is_busy(scope: Scope) -> bool:
    """Return whether another thread reads or writes one of the settings of a scope."""
    return try_locked(scope.locks, 0.0, bool) is NotImplemented


def _leave(scope: Scope, *, is_inside: bool) -> list[Write]:
    """Put back settings; those of a context only if this context is inside of the scope."""
    errors: dict[str, BaseException] = {}
    writes = _retry(scope, errors)
    left: list[tuple[Setting, Any]] = []
    for name in reversed(scope.values):
        setting = _registry.known(name)
        try:
            if setting is None or setting.extent == Extent.PROCESS:
                writes += _release(scope, name, setting, left)
            else:
                writes += _restore(scope, setting, is_inside=is_inside)
        except BaseException as error:
            errors[name] = error
    for setting, value in left:
        # Putting back others of the family has changed it: OpenMP's number of this thread is PyTorch's, too.
        try:
            if setting.set is not None and not same(read(setting), value):
                writes += apply(setting, value, scope.origin)
        except BaseException as error:
            errors[setting.name] = error
    # A context that was copied inside of the scope keeps it in its chain, where it is skipped.
    if _innermost.get() is scope:
        _innermost.set(next((each for each in chain() if each is not scope), None))
    # A copy, because other threads add and remove some.
    for wake in tuple(wakers):
        wake()
    _open.pop(id(scope), None)
    scope.is_open = False
    _raise(scope, errors)
    return writes


def _raise(scope: Scope, errors: dict[str, BaseException]) -> None:
    """Raise an interrupt, a warning that a filter makes an error of, or an error that names all settings."""
    for error in errors.values():
        if isinstance(error, Warning) or not isinstance(error, Exception):
            raise error
    if errors:
        # The text of a library rarely names the setting.
        failures = [
            f"{name} could not be put back to {shown(scope.failed[name][1])}: {reason_of(error)}"
            if name in scope.failed
            else f"{name} could not be put back: {reason_of(error)}"
            for name, error in errors.items()
        ]
        first = next(iter(errors))
        text = f"{scope.kind} at {scope.origin}: {'; '.join(failures)}"
        raise SettingValueError(text, setting=first) from errors[first]


def _retry(scope: Scope, errors: dict[str, BaseException]) -> list[Write]:
    """Put back what a library or an interrupt prevented, unless the value is another one now."""
    writes: list[Write] = []
    for name, (present, wanted) in list(scope.failed.items()):
        setting = _registry.known(name)
        is_held = name in _holds and not same(_holds[name][-1].value, wanted)
        try:
            value = None if setting is None else LOG.look(setting)
            # An interrupted write may be incomplete although the value is the wanted one.
            if setting is None or is_held or not (same(value, present) or same(value, wanted)):
                del scope.failed[name]
            else:
                writes += _put_back(scope, setting, wanted)
        except BaseException as error:
            errors[name] = error
    return writes


def _put_back(scope: Scope, setting: Setting, wanted: Any) -> list[Write]:
    scope.failed[setting.name] = (read(setting), wanted)
    writes = apply(setting, wanted, scope.origin, back=True)
    del scope.failed[setting.name]
    return writes


def _release(
    scope: Scope, name: str, setting: Setting | None, left: list[tuple[Setting, Any]]
) -> list[Write]:
    levels = _holds.get(name, [])
    index = next((index for index, level in enumerate(levels) if scope in level.members), None)
    if index is None:
        return []
    level, is_innermost = levels[index], levels[-1].members[-1] is scope
    third = _third_to_restore(scope, setting, levels[index:])
    is_last = len(level.members) == 1
    if is_last:
        levels = [*levels[:index], *levels[index + 1 :]]
    wanted = levels[-1].value if levels else level.before
    is_restored = is_innermost and (is_last or third is not None)
    if is_restored and not isinstance(wanted, Unreadable):
        # If an interrupt prevents it, `_retry` puts the value back.
        scope.failed[name] = level.value, wanted if third is None else third.value
    # New lists are stored by one assignment, because a signal handler may enter scopes before the next line.
    if not levels:
        del _holds[name]
    else:
        if index == 0 and is_last:
            levels[0].before = level.before
        _holds[name] = levels
    level.members = tuple([each for each in level.members if each is not scope])
    if setting is None or not is_restored:
        return []
    writes = _restore_shared(scope, setting, level, wanted, third, left)
    scope.failed.pop(name, None)
    return writes


def _restore_shared(
    scope: Scope,
    setting: Setting,
    level: Level,
    wanted: Any,
    third: ThirdValue | None,
    left: list[tuple[Setting, Any]],
) -> list[Write]:
    """Put back a setting of the process that a scope has released."""
    name, current = setting.name, LOG.look(setting)
    if not (setting.per_thread_reads and threading.get_ident() != scope.thread_id):
        if third is None and same(current, wanted):
            return []
        if level.is_written and not same(current, level.value):
            if not level.members:
                _warn_of_third_value(scope, name, current, LOG.last(name))
                left.append((setting, current))
            return []
    if third is not None:
        if name not in _holds:
            _warn_of_third_value(scope, name, third.value, third.write)
        return _put_back(scope, setting, third.value)
    untouched = {
        other: old
        for other, (old, new) in level.related.items()
        if _is_readable_here(scope, other)
        and (not level.is_written or same(read(_registry.get("", other)), new))
    }
    if isinstance(wanted, Unreadable):
        # The library refuses to read it beside the values of related settings, which are put back below.
        wanted = _last_readable(name, wanted)
        untouched = {other.name: read(other) for other in _registry.relatives(setting)} | untouched
        del untouched[name]
    writes = [] if isinstance(wanted, Unreadable) else _put_back(scope, setting, wanted)
    for other, old in untouched.items():
        # PyTorch's precision "highest", for example, is not stored as the tree of precisions that reads so.
        relative = _registry.get("", other)
        if relative.set is not None and not isinstance(old, Unreadable) and not same(read(relative), old):
            writes += _put_back(scope, relative, old)
    return writes


def _third_to_restore(scope: Scope, setting: Setting | None, levels: Sequence[Level]) -> ThirdValue | None:
    """Return the third value that a scope puts back, if it is the innermost one; else that one does later.

    Args:
        scope: The scope, which ends.
        setting: The setting; None if it is not known any more.
        levels: The level of the scope and those above.

    """
    if setting is None:
        return None
    third = scope.third_values.pop(setting.name, None)
    # A scope that has ended may have caused the value.
    if third is None or third.others != _holders_of_others(setting):
        return None
    members = [each for level in levels for each in level.members]
    later = members[members.index(scope) + 1 :]
    if not later:
        return third
    later[0].third_values.setdefault(setting.name, third)
    return None


def _is_readable_here(scope: Scope, name: str) -> bool:
    """Return whether this thread reads the value of a related setting that the scope's thread has written."""
    setting = _registry.known(name)
    return setting is not None and (
        setting.extent != Extent.THREAD or threading.get_ident() == scope.thread_id
    )


def _last_readable(name: str, present: Unreadable) -> Any:
    """Return the value that a setting had before it was unreadable; `present` if no write of it is known."""
    olds = (write.old for write in reversed(LOG.of(name)))
    return next((old for old in olds if not isinstance(old, Unreadable)), present)


def _restore(scope: Scope, setting: Setting, *, is_inside: bool) -> list[Write]:
    """Put back a setting of a thread or a context."""
    if setting.name not in scope.before:
        return []
    before, current = scope.before[setting.name], read(setting)
    # If an interrupt prevents it, `_retry` puts the value back.
    scope.failed[setting.name] = current, before
    del scope.before[setting.name]
    writes = _restore_own(scope, setting, before, current, is_inside=is_inside)
    scope.failed.pop(setting.name, None)
    return writes


def _restore_own(
    scope: Scope, setting: Setting, before: Any, current: Any, *, is_inside: bool
) -> list[Write]:
    """Put back a setting of this thread or context."""
    if setting.extent == Extent.CONTEXT and not is_inside:
        if not scope.has_context():
            return []
        message = f"{setting.name} is left as it is in the context that entered the {scope.kind}"
        _warn(scope, f"{message}, which was exited in another context")
        return []
    if setting.extent == Extent.THREAD:
        if threading.get_ident() != scope.thread_id:
            message = f"{setting.name} is left as it is on thread {scope.origin.thread}: the scope that was "
            _warn(scope, f"{message}entered there was exited on thread {threading.current_thread().name}")
            return []
        key = setting.name, scope.thread_id
        open_scopes = _thread_scopes[key]
        index = open_scopes.index(scope)
        inner = open_scopes[index + 1 :]
        if len(open_scopes) > 1:
            _thread_scopes[key] = [*open_scopes[:index], *inner]
        else:
            del _thread_scopes[key]
        # Scopes of this thread ended out of order. The next inner one puts back what this one would have.
        if inner and same(current, inner[-1].values[setting.name]):
            inner[0].before[setting.name] = before
            return []
    return [] if same(current, before) else _put_back(scope, setting, before)


def _warn_of_third_value(scope: Scope, name: str, current: Any, last: Write | None) -> None:
    by = f" at {last.file}:{last.line}" if last is not None and last.file is not None else ""
    _warn(
        scope,
        f"{name} was set to {shown(current)}{by} while the {scope.kind} at {scope.origin} held it with the "
        f"value {shown(scope.values[name])}; it is left as it is",
    )


def _warn(scope: Scope, message: str) -> None:
    warnings.warn_explicit(message, SettingWarning, scope.origin.file, scope.origin.line)


def open_scopes() -> list[Scope]:
    """Return the scopes and pins that are open in any context, in the order in which they were entered."""
    # A copy that is made in one step, because other threads enter and exit scopes.
    found = (reference() for reference in _open.valuerefs())
    return [scope for scope in found if scope is not None and scope.is_open]


def holders(name: str) -> list[Scope]:
    """Return the scopes and pins that hold a setting of the process, the outermost first."""
    return [scope for level in _holds.get(name, ()) for scope in level.members]


def pinned(name: str) -> tuple[Scope, Any] | None:
    """Return the pin of a setting, and the value that it keeps."""
    if name not in _holds:
        return None
    top = _holds[name][-1]
    return None if top.pin is None else (top.pin, top.value)


def refused(setting: Setting, value: Any, written_by: str) -> Callable[[], None] | None:
    """Undo a write of a pinned setting.

    Returns:
        What reports the write after the lock was released; None if the setting is not pinned to another
        value.

    """
    found = pinned(setting.name)
    if found is None or same(found[1], value):
        return None
    pin, wanted = found
    write = setting.restore or setting.set
    assert write is not None, "a read-only setting cannot be pinned"
    _write_unrecorded(write, wanted)
    LOG.remember(setting, read(setting))
    message = f"{setting.name} is {pin.describe(setting.name)}; {written_by} {shown(value)}"

    def report() -> None:
        if pin.on_write == "raise":
            raise SettingPinnedError(f"{message} is refused")
        if pin.on_write == "warn":
            _warn(pin, f"{message} was undone")

    return report


def look(setting: Setting) -> Any:
    """Read a setting, record a change without a recorded write, and undo it if the setting is pinned.

    If another thread reads or writes the setting now, nothing is recorded or undone.
    """
    found = try_locked(locks_of((setting,)), 0.0, _look, setting)
    return read(setting) if found is NotImplemented else found


def _look(setting: Setting) -> Any:
    """Look at a setting with its lock held."""
    value = LOG.look(setting)
    found = pinned(setting.name)
    if found is None or (setting.per_thread_reads and threading.get_ident() != found[0].thread_id):
        return value
    pin, wanted = found
    if refused(setting, value, "") is None:
        return value
    if pin.on_write != "ignore":
        message = f"{setting.name} is {pin.describe(setting.name)}; code that cannot be seen wrote"
        _warn(pin, f"{message} {shown(value)}, which was undone")
    return wanted


def _forget_other_holders() -> None:
    """Release in a forked child what threads and contexts hold that do not exist in it.

    The fork may have been made while another thread was in the middle of an enter or an exit.
    """
    wakers.clear()
    own = chain()
    # All of them, also if a library refuses a value.
    with contextlib.ExitStack() as stack:
        for scope in open_scopes():
            if scope in own or scope.on_write is not None or not any(map(_may_be_of_process, scope.values)):
                continue
            if scope.thread_id != threading.get_ident():
                # The values of a thread that does not exist here.
                scope.before.clear()
            stack.callback(leave, scope)


def _may_be_of_process(name: str) -> bool:
    setting = _registry.known(name)
    return setting is None or setting.extent == Extent.PROCESS


os.register_at_fork(after_in_child=_forget_other_holders)
