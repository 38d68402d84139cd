"""The exit of a scope: it puts back the settings that no other scope holds."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from interlock.errors import SettingValueError
from interlock.settings import _registry
from interlock.settings._apply import apply
from interlock.settings._locks import call_locked, try_locked
from interlock.settings._scopes import (
    Level,
    Scope,
    ThirdValue,
    chain,
    held,
    holders_of_others,
    innermost,
    open_by_id,
    open_scopes,
    thread_scopes,
)
from interlock.settings._setting import Extent, Setting, Unreadable, read, reason_of
from interlock.settings._writes import LOG, Write, same, shown

# Called once a scope has released a setting.
wakers: list[Callable[[], None]] = []


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
    if innermost.get() is scope:
        innermost.set(next((each for each in chain() if each is not scope), None))
    # A copy, because other threads add and remove some.
    for wake in tuple(wakers):
        wake()
    open_by_id.pop(id(scope), None)
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
        is_held = name in held and not same(held[name][-1].value, wanted)
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
    levels = held.get(name, [])
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
        del held[name]
    else:
        if index == 0 and is_last:
            levels[0].before = level.before
        held[name] = levels
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
        if name not in held:
            _warn_of_third_value(scope, name, third.value, third.write)
        return _put_back(scope, setting, third.value)
    untouched = {other.name: (other, old) for other, old in _untouched(scope, level)}
    if isinstance(wanted, Unreadable):
        # The library refuses to read it beside the values of related settings, which are put back below.
        wanted = _last_readable(name, wanted)
        relatives = (other for other in _registry.relatives(setting) if other is not setting)
        untouched = {other.name: (other, read(other)) for other in relatives} | untouched
    writes = [] if isinstance(wanted, Unreadable) else _put_back(scope, setting, wanted)
    for other, old in untouched.values():
        # PyTorch's precision "highest", for example, is not stored as the tree of precisions that reads so.
        if other.set is not None and not isinstance(old, Unreadable) and not same(read(other), old):
            writes += _put_back(scope, other, old)
    return writes


def _untouched(scope: Scope, level: Level) -> Iterator[tuple[Setting, Any]]:
    """Iterate over related settings that have the value to which a level set them, and their values before.

    Those that only the scope's thread can read are left out on another one.
    """
    is_same_thread = threading.get_ident() == scope.thread_id
    for name, (old, new) in level.related.items():
        other = _registry.known(name)
        if other is None or (other.extent == Extent.THREAD and not is_same_thread):
            continue
        if not level.is_written or same(read(other), new):
            yield other, old


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
    if third is None or third.others != holders_of_others(setting):
        return None
    members = [each for level in levels for each in level.members]
    later = members[members.index(scope) + 1 :]
    if not later:
        return third
    later[0].third_values.setdefault(setting.name, third)
    return None


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
        scope.warn(f"{message}, which was exited in another context")
        return []
    if setting.extent == Extent.THREAD:
        if threading.get_ident() != scope.thread_id:
            message = f"{setting.name} is left as it is on thread {scope.origin.thread}: the scope that was "
            scope.warn(f"{message}entered there was exited on thread {threading.current_thread().name}")
            return []
        key = setting.name, scope.thread_id
        open_scopes = thread_scopes[key]
        index = open_scopes.index(scope)
        inner = open_scopes[index + 1 :]
        if len(open_scopes) > 1:
            thread_scopes[key] = [*open_scopes[:index], *inner]
        else:
            del thread_scopes[key]
        # Scopes of this thread ended out of order. The next inner one puts back what this one would have.
        if inner and same(current, inner[-1].values[setting.name]):
            inner[0].before[setting.name] = before
            return []
    return [] if same(current, before) else _put_back(scope, setting, before)


def _warn_of_third_value(scope: Scope, name: str, current: Any, last: Write | None) -> None:
    by = f" at {last.file}:{last.line}" if last is not None and last.file is not None else ""
    scope.warn(
        f"{name} was set to {shown(current)}{by} while the {scope.kind} at {scope.origin} held it with the "
        f"value {shown(scope.values[name])}; it is left as it is",
    )


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
