"""The flags: their values, where these come from and what the table says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interlock import backends
from interlock._core import backends as _native
from interlock._report.names import UnknownNameError


@dataclass(frozen=True)
class Flag:
    """The value of a flag and where it comes from."""

    name: str
    value: object
    level: str
    set_by: str | None
    effective: object
    overruled_by: str | None
    default: object

    @property
    def differs(self) -> bool:
        """Whether operations obey something else than the default."""
        return self.value != self.default or self.effective != self.default


@dataclass(frozen=True)
class ExplainedFlag(Flag):
    """A flag with all that is known of it."""

    acts_on: str
    type: str
    allowed: str | None
    """What may be written, in words; None where it can only be read."""
    variables: tuple[str, ...]
    documentation: str


def flags(names: Iterable[str] = ()) -> tuple[Flag, ...]:
    """Return the flags with these names and those of the modules with these names; without names, all.

    Raises `UnknownNameError` for what is neither.
    """
    declared = {row["name"]: row for row in _native.table()}
    wanted = [_below_backends(name) for name in names]
    for name in wanted:
        if not any(_is_of(flag, name) for flag in declared):
            modules = {flag[:place] for flag in declared for place, sign in enumerate(flag) if sign == "."}
            raise UnknownNameError(
                f"no flag and no module of flags is called {name}", name, modules | {*declared}
            )
    chosen = (flag for flag in declared if not wanted or any(_is_of(flag, name) for name in wanted))
    return tuple(_flag(declared[flag]) for flag in chosen)


def explained(name: str) -> ExplainedFlag:
    """Return all that is known of one flag. Raises `UnknownNameError` where there is none of this name."""
    name = _below_backends(name)
    declared = {row["name"]: row for row in _native.table()}
    row = declared.get(name)
    if row is None:
        if any(_is_of(flag, name) for flag in declared):
            raise UnknownNameError(f"{name} is a module of flags, which `flags {name}` lists, and no flag")
        raise UnknownNameError(f"no flag is called {name}", name, declared)
    return ExplainedFlag(
        **vars(_flag(row)),
        acts_on=backends.explain(name).acts_on,
        type=row["reads"],
        allowed=row["allowed"],
        variables=tuple(row["variables"]),
        documentation=" ".join(row["doc"].split()),
    )


def _flag(row: _native.Flag) -> Flag:
    """Return the value of a flag and where it comes from."""
    found = backends.explain(row["name"])
    return Flag(
        name=found.name,
        value=found.value,
        level=str(found.level),
        set_by=found.set_by,
        effective=found.effective,
        overruled_by=found.overruled_by,
        default=row["default"],
    )


def _is_of(flag: str, name: str) -> bool:
    """Return whether a name is that of a flag, or of a module that has it."""
    return flag == name or flag.startswith(f"{name}.")


def _below_backends(name: str) -> str:
    """Return a name as it is below `backends`; it may be written with what stands before that."""
    return name.removeprefix("interlock.").removeprefix("backends.")
