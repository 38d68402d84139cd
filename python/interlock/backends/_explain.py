"""Where the value of a flag comes from."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from interlock._core import backends as _native
from interlock.backends._register import Flag, warn_of_variables


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
    """What operations obey: the value, unless something else overrules it."""
    overruled_by: str | None
    """The flag or environment variable that overrules the value."""
    acts_on: str
    """What obeys the flag, and whether that is in this process."""


def explain(name: str | Flag[Any]) -> Explanation:
    """Explain the value of a flag, given by its dotted name, such as `cudnn.enabled`, or as a `Flag`.

    Raises `UnknownFlagError` for other names. Warns with `FlagEnvironmentWarning` of environment variables
    that are nearly those of the library's flags.

    >>> from interlock import backends
    >>> backends.explain("cudnn.benchmark_limit")[:3]
    ('cudnn.benchmark_limit', 10, <Level.DEFAULT: 'default'>)
    """
    name = name.name if isinstance(name, Flag) else name
    value, level, set_by, effective, overruled_by, acts_on = _native.explain(name)
    warn_of_variables(name.partition(".")[0], stacklevel=3)
    return Explanation(name, value, Level(level), set_by, effective, overruled_by, acts_on)
