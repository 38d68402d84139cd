"""What is known of flags at run time: explanations, snapshots of the process and the log of writes."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from interlock._core import backends as _native
from interlock.backends._register import Flag, warn_of_variables
from interlock.errors import FlagTypeError, FlagValueError


class Level(enum.StrEnum):
    """What decides the value of a flag, the strongest first."""

    SCOPE = "scope"
    PROCESS = "process"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class Explanation(NamedTuple):
    """The value of a flag on this thread and where it comes from."""

    name: str
    """The dotted name below `backends`."""
    value: Any
    """The value in force."""
    level: Level
    """What decides it."""
    set_by: str | None
    """The environment variable, or under `INTERLOCK_DEBUG=1` the `file:line` of the code, that set it."""
    effective: Any
    """The value that operations use: `value`, unless another flag or a variable overrides it."""
    overridden_by: str | None
    """The flag or environment variable that overrides `value`; None if nothing does."""
    affects: str
    """What the flag affects, and whether the library that runs it is loaded in this process."""


def explain(name: str | Flag[Any]) -> Explanation:
    """Explain the value of a flag, given by its dotted name, such as `cudnn.enabled`, or as a `Flag`.

    Raises `UnknownFlagError` for other names. Warns with `FlagEnvironmentWarning` of environment variables
    that are nearly those of the library's flags.

    >>> from interlock import backends
    >>> backends.explain("cudnn.benchmark_limit")[:3]
    ('cudnn.benchmark_limit', 10, <Level.DEFAULT: 'default'>)
    """
    name = name.name if isinstance(name, Flag) else name
    value, level, set_by, effective, overridden_by, affects = _native.explain(name)
    warn_of_variables(name.partition(".")[0], stacklevel=3)
    return Explanation(name, value, Level(level), set_by, effective, overridden_by, affects)


class SnapshotEntry(NamedTuple):
    """What the process holds for one flag."""

    name: str
    """The dotted name below `backends`."""
    value: Any
    """The value; None for a node of the precision tree that holds nothing."""
    level: str
    """Where the process has it from: `process`, `environment` or `default`."""


class Snapshot(tuple[SnapshotEntry, ...]):
    """What the process holds for every flag: immutable, comparable, picklable; `json.dumps` takes it."""

    __slots__ = ()

    def install(self) -> None:
        """Make this process hold what the snapshot holds: an initializer for worker processes.

        `ProcessPoolExecutor(initializer=backends.snapshot().install)` gives its workers the flags of this
        process. Where exactly these are assigned already it does nothing, so that a freeze which a forked
        worker has from its parent is no obstacle. Otherwise it is `restore`, and raises what that raises.
        """
        _native.install(_assigned(map(_checked, self)))


def snapshot() -> Snapshot:
    """Take every flag of the process as it is at one moment. Scopes are not part of it."""
    return Snapshot(SnapshotEntry(*entry) for entry in _native.snapshot())


def restore(snapshot: Iterable[Sequence[Any]]) -> None:
    """Assign for the process what was assigned when `snapshot` was taken, and drop all else.

    It takes a `Snapshot`, also one that went through JSON. A flag of a library that is not imported yet gets
    its value when the library registers it. All or nothing: raises `FlagTypeError`,
    `FlagValueError` or `UnknownFlagError` for entries that don't fit, `FlagsFrozenError` while flags are
    frozen. Scopes that are open stay in force.
    """
    if not isinstance(snapshot, list | tuple):
        raise FlagTypeError(f"restore() takes a snapshot, got a value of type {type(snapshot).__name__}")
    _native.restore(_assigned([_checked(entry) for entry in snapshot]))


def _assigned(entries: Iterable[SnapshotEntry]) -> dict[str, Any]:
    """Return the flags that somebody assigned; the others follow the environment and the defaults."""
    return {name: value for name, value, level in entries if level == Level.PROCESS}


def _checked(entry: Sequence[Any]) -> SnapshotEntry:
    """Return the entry if it names a flag and says where its value came from."""
    if not (isinstance(entry, list | tuple) and len(entry) == 3 and isinstance(entry[0], str)):
        raise FlagTypeError(f"an entry of a snapshot is (name, value, level), got {entry!r}")
    name, value, level = entry
    if level not in (Level.PROCESS, Level.ENVIRONMENT, Level.DEFAULT):
        raise FlagValueError(
            f"the level of {name} in a snapshot is process, environment or default, got {level!r}"
        )
    return SnapshotEntry(name, value, level)


def reset() -> None:
    """Drop whatever is assigned for the process. Raises `FlagsFrozenError` while flags are frozen."""
    _native.reset()


class Write(NamedTuple):
    """One write of one flag."""

    name: str
    """The dotted name; of a view, the names of the nodes that it shows are written."""
    value: Any
    """The assigned value; None if `unset`."""
    unset: bool
    """Whether the write unset the flag (`del`, `reset`, `restore`)."""
    set_by: str
    """`file:line`."""


def writes() -> list[Write]:
    """Return the last writes of flags, of all threads, the oldest first.

    To open a scope is no write; to assign a flag inside of one that decides it is. At most a thousand are
    kept, and none unless the process was started with `INTERLOCK_DEBUG=1`. So it shows which library changes
    flags when it is imported.
    """
    return [Write(*write) for write in _native.written()]
