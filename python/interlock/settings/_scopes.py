"""The scopes that hold settings of the process, and what they hold.

A setting of the process has one value, so scopes that want different values cannot be open at one time. Its
levels are nested scopes of one holder, the innermost last. A level is shared by scopes with equal values. The
holder is a context: a scope belongs to it if its context has the holder's scopes in its chain, which a
context gets by being the same or by being copied inside of them.

Signal handlers, interrupts and forks of other threads may come between any two steps of an enter or an exit.
So each table and each list in one is replaced by one assignment, a scope is in `open_by_id` before it holds
something, and its exit finds what an enter or an earlier exit has done and leaves no step out when it is
repeated.
"""

from __future__ import annotations

import contextvars
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interlock.errors import SettingWarning
from interlock.settings import _registry
from interlock.settings._locks import Locks
from interlock.settings._origin import Origin
from interlock.settings._setting import Setting
from interlock.settings._writes import Write, shown

innermost: contextvars.ContextVar[Scope | None] = contextvars.ContextVar(
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

    def warn(self, message: str) -> None:
        """Warn at the line of the scope."""
        warnings.warn_explicit(message, SettingWarning, self.origin.file, self.origin.line)


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
held: dict[str, list[Level]] = {}
# The open scopes of a setting of a thread, by setting and thread, the innermost last.
thread_scopes: dict[tuple[str, int], list[Scope]] = {}
# The scopes and pins that are open in any context, by identity, in the order in which they were entered.
open_by_id: weakref.WeakValueDictionary[int, Scope] = weakref.WeakValueDictionary()


def chain() -> list[Scope]:
    """Return the open scopes of this context, the innermost first."""
    found, scope = [], innermost.get()
    while scope is not None:
        if scope.is_open:
            found.append(scope)
        scope = scope.parent
    return found


def open_scopes() -> list[Scope]:
    """Return the scopes and pins that are open in any context, in the order in which they were entered."""
    # A copy that is made in one step, because other threads enter and exit scopes.
    found = (reference() for reference in open_by_id.valuerefs())
    return [scope for scope in found if scope is not None and scope.is_open]


def holders(name: str) -> list[Scope]:
    """Return the scopes and pins that hold a setting of the process, the outermost first."""
    return [scope for level in held.get(name, ()) for scope in level.members]


def holders_of_others(setting: Setting) -> tuple[Scope, ...]:
    """Return the scopes and pins that hold other settings of the family of a setting."""
    relatives = _registry.relatives(setting)
    return tuple(scope for each in relatives if each is not setting for scope in holders(each.name))


def reads_value_of(setting: Setting, level: Level) -> bool:
    """Return whether this thread reads the value that a scope has written, not one of its own."""
    here = threading.get_ident()
    return not setting.per_thread_reads or any(each.thread_id == here for each in level.members)
