"""Introspection of flags: explanations, snapshots of the process and the write log."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, overload

from interlock._core import backends as _native
from interlock._homes import set_home
from interlock._quote import shown
from interlock._quoting_enum import QuotingEnum
from interlock.backends._register import Flag, warn_of_variables
from interlock.backends._type_variables import Value_co
from interlock.errors import FlagTypeError, FlagValueError


class Level(QuotingEnum, enum.StrEnum):
    """The levels that determine the value of a flag, in order of precedence."""

    SCOPE = "scope"
    PROCESS = "process"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class Explanation(NamedTuple, Generic[Value_co]):
    """The value of a flag in the current context, the level that determines it, and its effective value."""

    name: str
    """The dotted name below `backends`."""
    value: Value_co
    """The value that reading the flag returns in the current context."""
    level: Level
    """The level that determines the value."""
    set_by: str | None
    """The environment variable that set the flag, or with `INTERLOCK_DEBUG=1` the `file:line` that did."""
    effective: Value_co
    """The value that operations use: `value`, unless another flag or a variable overrides it."""
    overridden_by: str | None
    """The flag or environment variable that overrides `value`; None if nothing does."""
    affects: str
    """The operations that the flag affects, and whether their library is loaded in this process."""
    inherited_from: str | None
    """The precision node from which an empty node inherits `value`; None if the value is its own."""


@overload
def explain(name: Flag[Value_co, Any]) -> Explanation[Value_co]: ...
@overload
def explain(name: str) -> Explanation: ...
def explain(name: str | Flag[Any]) -> Explanation:
    """Explain the value of a flag: which level determines it, and what overrides it.

    Issues a `FlagEnvironmentWarning` for environment variables whose names resemble those of the library's
    flags.

    Args:
        name: The dotted name of a flag, such as `cudnn.enabled`, or a `Flag`; `state.grad` and the other
            names that `snapshot` has for modes and devices, too.

    Raises:
        UnknownFlagError: There is no flag of this name.
        FlagTypeError: `name` is neither a str nor a `Flag`.

    Example:
        >>> from interlock import backends
        >>> backends.explain("cudnn.benchmark_limit")[:3]
        ('cudnn.benchmark_limit', 10, <Level.DEFAULT: 'default'>)

    """
    name = name.name if isinstance(name, Flag) else name
    name, value, level, *rest = _native.explain(name)
    warn_of_variables(name.partition(".")[0], stacklevel=3)
    return Explanation(name, value, Level(level), *rest)


class SnapshotEntry(NamedTuple):
    """The value of one flag for the process. Scopes are ignored."""

    name: str
    """The dotted name below `backends`."""
    value: Any
    """The value; None for an empty node of the precision tree."""
    level: str
    """The level that determines the value: `process`, `environment` or `default`."""


class Snapshot(tuple[SnapshotEntry, ...]):
    """The values of all flags for the process: an immutable tuple that can be pickled and dumped as JSON."""

    __slots__ = ()

    def install(self) -> None:
        """Restore the snapshot in this process. For use as the initializer of worker processes.

        `ProcessPoolExecutor(initializer=backends.snapshot().install)` copies the flags of this process to its
        workers. Unlike `restore`, it does nothing if exactly these values are already assigned, so it works
        in a forked worker whose flags are frozen.

        Raises:
            FlagTypeError: An entry or a value has the wrong type.
            FlagValueError: A flag does not accept its value.
            FlagsFrozenError: Flags are frozen and have other values.

        """
        _native.install(_assigned(map(_validated, self)))


def snapshot() -> Snapshot:
    """Return the values of all flags for the process, read atomically. Scopes are ignored.

    Modes and devices that `state.set_process_defaults` has set follow, with names such as `state.grad`.

    Example:
        >>> from interlock import backends
        >>> before = backends.snapshot()
        >>> backends.cudnn.benchmark = True
        >>> backends.restore(before)
        >>> backends.cudnn.benchmark
        False

    """
    return Snapshot(SnapshotEntry(*entry) for entry in _native.snapshot())


def restore(snapshot: Iterable[Sequence[Any]]) -> None:
    """Assign the flags that were assigned when a snapshot was taken, and unset all others.

    Open scopes are not affected. A flag of a library that is not imported yet is assigned when the library
    registers it. If an error is raised, no flag is changed.

    Args:
        snapshot: A `Snapshot`, or the list of its entries, for example after a round trip through JSON.

    Raises:
        FlagTypeError: `snapshot`, an entry or a value has the wrong type.
        FlagValueError: A flag does not accept its value.
        UnknownFlagError: There is no flag of this name.
        FlagsFrozenError: Flags are frozen.

    """
    if not isinstance(snapshot, list | tuple):
        kind = type(snapshot).__name__
        raise FlagTypeError(f"restore: snapshot must be a Snapshot or a list, got {kind}")
    _native.restore(_assigned([_validated(entry) for entry in snapshot]))


def _assigned(entries: Iterable[SnapshotEntry]) -> dict[str, Any]:
    """Return the flags that were assigned; all other flags have the environment's value or the default."""
    return {name: value for name, value, level in entries if level == Level.PROCESS}


def _validated(entry: Sequence[Any]) -> SnapshotEntry:
    """Return the entry if it is well-formed, else raise."""
    if not (isinstance(entry, list | tuple) and len(entry) == 3 and isinstance(entry[0], str)):
        raise FlagTypeError(
            f"restore: an entry of a snapshot must be (name, value, level), got {shown(entry)}"
        )
    name, value, level = entry
    if level not in (Level.PROCESS, Level.ENVIRONMENT, Level.DEFAULT):
        raise FlagValueError(
            f"restore: the level of {shown(name)} must be process, environment or default, got {shown(level)}"
        )
    return SnapshotEntry(name, value, level)


def reset() -> None:
    """Unset all flags of the process, so that they have the environment's values or the defaults.

    Raises:
        FlagsFrozenError: Flags are frozen.

    """
    _native.reset()


class Write(NamedTuple):
    """An entry of the write log: an assignment of a flag, or its removal."""

    name: str
    """The dotted name. A write of an alias is recorded as writes of the precision nodes that it shows."""
    value: Any
    """The assigned value; None if `unset`."""
    unset: bool
    """Whether the write unset the flag (`del`, `reset`, `restore`)."""
    set_by: str
    """The `file:line` of the code that wrote the flag."""


def writes() -> list[Write]:
    """Return the last 1,000 writes of flags by all threads, the oldest first.

    Use it to find the library that changes a flag. Writes are recorded only if the process was started with
    `INTERLOCK_DEBUG=1`. Assigning a flag inside a scope that sets it is a write; entering a scope is not.

    Raises:
        NotTracedError: The process was started without `INTERLOCK_DEBUG=1`.

    """
    return [Write(*write) for write in _native.write_log()]


set_home("interlock.backends", Explanation, Level, Snapshot, SnapshotEntry, Write)
