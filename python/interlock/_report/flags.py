"""The flags: their values, where these come from and what the table says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interlock import backends
from interlock._core import backends as _native
from interlock._near import near
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
    is_registered: bool
    """Whether a library that was imported has registered it; else it is one of interlock's own."""


def flags(names: Iterable[str] = ()) -> tuple[Flag, ...]:
    """Return the flags with these names and those of the modules with these names; without names, all.

    Those of a module stand together, in the order of the table and before those of the modules in it. Raises
    `UnknownNameError` for what is neither.
    """
    declared = _declared()
    wanted = [below_backends(name) for name in names]
    for name in wanted:
        if not any(_is_of(flag, name) for flag in declared):
            message = f'no flag and no module of flags is called "{name}"'
            raise UnknownNameError(message, near(name, commands()))
    chosen = (flag for flag in declared if not wanted or any(_is_of(flag, name) for name in wanted))
    return tuple(_flag(declared[flag]) for flag in chosen)


def explained(name: str) -> ExplainedFlag:
    """Return all that is known of one flag. Raises `UnknownNameError` where there is none of this name."""
    name = below_backends(name)
    row = _declared().get(name)
    if row is None:
        known = commands()
        if name in known:
            raise UnknownNameError(f"{name} is a module of flags, which `{known[name]}` lists, and no flag")
        meant = near(name, known)
        raise UnknownNameError(f'no flag is called "{name}"', meant and known[meant])
    return ExplainedFlag(
        **vars(_flag(row)),
        acts_on=backends.explain(name).acts_on,
        type=row["reads"],
        allowed=row["allowed"],
        variables=tuple(row["variables"]),
        documentation=" ".join(row["doc"].split()),
        is_registered=all(own["name"] != name for own in _native.table()),
    )


def commands() -> dict[str, str]:
    """Return the names of all flags and of their modules, each with the command that tells more of it."""
    declared = _declared()
    return {module: f"flags {module}" for flag in declared for module in _modules(flag)} | {
        flag: f"explain {flag}" for flag in declared
    }


def below_backends(name: str) -> str:
    """Return a name as it is below `backends`; it may be written with what stands before that."""
    return name.removeprefix("interlock.").removeprefix("backends.")


def _declared() -> dict[str, _native.Flag]:
    """Return what the table says of each flag, also registered ones, those of a module after each other."""
    table = _native.table(registered=True)
    places: dict[str, int] = {}
    for row in table:
        for module in _modules(row["name"]):
            places.setdefault(module, len(places))
    ordered = sorted(table, key=lambda row: [places[module] for module in _modules(row["name"])])
    return {row["name"]: row for row in ordered}


def _modules(flag: str) -> list[str]:
    """Return the modules that a flag is in, the outermost first."""
    return [flag[:place] for place, sign in enumerate(flag) if sign == "."]


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
