"""The locks that are held while a library reads or writes a setting.

Functions of libraries and programs may wait for other threads: a setter for the threads that it configures,
a getter for an import. So none of them runs while a lock is held that other settings need. Each setting, or
each family of settings that change together, has a lock of its own.

A function that waits for a thread which needs the same lock would wait forever. So all waits for a lock end
after `LONGEST_WAIT`: what has to be done, such as the exit of a scope, is done without the lock then, and the
rest raises.

Tables that several locks share are changed by single operations, which other threads, signal handlers and
forks do not interrupt.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from interlock._core.state import HeldLocks
from interlock.errors import SettingConflictError
from interlock.settings._setting import Setting

LONGEST_WAIT = 30.0
"""The seconds that a thread waits for a lock."""
# The seconds that a fork waits for a lock.
_LONGEST_DELAY = 1.0

# Of `threading.RLock`, whose class has no public name.
Locks: TypeAlias = tuple[Any, ...]

_locks: dict[str, Any] = {}
# Held while the settings of a library become known, so that other threads find all or none.
_registration: Any = threading.RLock()
_held_over_forks = [_registration]


def locks_of(settings: Sequence[Setting]) -> Locks:
    """Return the locks of settings, in the order in which each thread acquires them."""
    if len(settings) == 1:
        return (lock_of(settings[0].family or settings[0].name),)
    return tuple([lock_of(key) for key in sorted({each.family or each.name for each in settings})])


def lock_of(key: str) -> Any:
    """Return the lock of a family, of a setting without one, or of a part of interlock.

    A forked child has it free, unless its thread has acquired it.
    """
    return _locks.get(key) or _locks.setdefault(key, threading.RLock())


def lock_over_forks(key: str) -> Any:
    """Return the lock of a part of interlock, for changes in whose middle a forked child would be unusable.

    A fork waits until it is free, for at most a second.
    """
    lock = lock_of(key)
    _held_over_forks.append(lock)
    return lock


def try_locked(locks: Locks, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with locks held; return `NotImplemented` if another thread keeps one for `seconds`."""
    with HeldLocks(locks, seconds) as is_held:
        return function(*arguments) if is_held else NotImplemented


def call_locked(locks: Locks, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with locks held, or without them if another thread keeps one too long."""
    result = try_locked(locks, LONGEST_WAIT, function, *arguments)
    return function(*arguments) if result is NotImplemented else result


def busy(function: str, names: Iterable[str], seconds: float = LONGEST_WAIT) -> SettingConflictError:
    """Return the error for settings whose locks another thread keeps."""
    return SettingConflictError(
        f"{function}: another thread has been reading or writing {' or '.join(names)} for {seconds:g} s: the "
        "functions of a setting must not wait for a thread that sets it"
    )


def call_registering(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that makes settings known or forgets some, for a public function of a name."""
    result = try_locked((_registration,), LONGEST_WAIT, function, *arguments)
    if result is NotImplemented:
        raise SettingConflictError(
            f"{name}: another thread has been making settings known for {LONGEST_WAIT:g} s: functions that "
            "read a setting must not wait for a thread that uses `enable`, `register` or `disable`"
        )
    return result


def _before_fork() -> None:
    for each in _held_over_forks:
        each.acquire(timeout=_LONGEST_DELAY)


def _after_fork() -> None:
    for each in _held_over_forks:
        # An interrupt may have ended `_before_fork`, or another thread may have kept the lock.
        if each._is_owned():
            each.release()


def _after_fork_in_child() -> None:
    _after_fork()
    for each in (_registration, *_locks.values()):
        # A fork inside of a setter continues it in the child.
        if not each._is_owned():
            each._at_fork_reinit()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
