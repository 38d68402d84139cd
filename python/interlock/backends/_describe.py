"""Descriptions of flags: their types, variables, documentation and values."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, overload

from interlock._core import backends as _native
from interlock._homes import set_home
from interlock.backends._introspection import Level
from interlock.backends._register import Flag
from interlock.backends._type_variables import Value_co
from interlock.errors import FlagTypeError

_READ_ON_IMPORT = "when interlock is imported"
_READ_ON_REGISTRATION = "when the flag is registered"


class Description(NamedTuple, Generic[Value_co]):
    """The result of `describe`: the declaration of a flag, and its value in the current context."""

    name: str
    """The dotted name below `backends`, or that of another library's flag."""
    type: str
    """The type of the value, as an annotation."""
    accepts: str | None
    """The accepted values in words; None if the flag is read-only."""
    validator: str | None
    """The name of the function that checks the values of a registered flag; None if there is none."""
    default: Value_co
    """The value if nothing sets the flag."""
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
    inherited_from: str | None
    """The precision node from which an empty node inherits `value`; None if the value is its own."""
    variables: tuple[str, ...]
    """The environment variables that set the flag, in order of precedence."""
    variables_read: str | None
    """When the variables are read, each once; None if there are none."""
    affects: str
    """The operations that the flag affects."""
    documentation: str
    """The documentation of the flag."""
    is_registered: bool
    """Whether another library registered the flag; False for a flag of interlock."""


@overload
def describe(name: None = None) -> list[Description]: ...
@overload
def describe(name: Flag[Value_co, Any]) -> Description[Value_co]: ...
@overload
def describe(name: str) -> Description: ...
def describe(name: str | Flag[Any] | None = None) -> Description | list[Description]:
    """Describe a flag, or all flags: type, accepted values, default, value, variables and documentation.

    The variables of interlock's flags are read once, when `interlock` is imported, and those of a
    registered flag once, when it is registered. Later changes of the environment have no effect.

    Args:
        name: The dotted name of a flag, or a `Flag`. Default: all flags, those of interlock first.

    Returns:
        The description, or the list of all.

    Raises:
        UnknownFlagError: There is no flag of this name.
        FlagTypeError: `name` is neither a str nor a `Flag`.

    Example:
        >>> from interlock import backends
        >>> described = backends.describe("cudnn.benchmark_limit")
        >>> described.type, described.default, described.variables
        ('int', 10, ('INTERLOCK_CUDNN_BENCHMARK_LIMIT',))

    """
    if name is None:
        return [described(row) for row in _native.table(registered=True)]
    name = name.name if isinstance(name, Flag) else name
    if not isinstance(name, str):
        raise FlagTypeError(f"describe: name must be a str or a Flag, got {name.__class__.__name__}")
    return described(_native.row(name))


def described(row: _native.Flag) -> Description:
    """Return the description of a row of the table, also if the flag was unregistered since."""
    name, value, level, set_by, effective, overridden_by, affects, inherited_from = row["explained"]
    variables = tuple(row["variables"])
    read = _READ_ON_REGISTRATION if row["is_registered"] else _READ_ON_IMPORT
    return Description(
        name=name,
        type=row["reads"],
        accepts=row["allowed"],
        validator=row["validator"],
        default=row["default"],
        value=value,
        level=Level(level),
        set_by=set_by,
        effective=effective,
        overridden_by=overridden_by,
        inherited_from=inherited_from,
        variables=variables,
        variables_read=read if variables else None,
        affects=affects,
        documentation=" ".join(row["doc"].split()),
        is_registered=row["is_registered"],
    )


set_home("interlock.backends", Description)
