"""The types of registered flags: how the arguments of `register` determine them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from interlock._quote import shown
from interlock.errors import FlagTypeError

_NAMES: dict[Any, str] = {bool: "bool", int: "int", float: "float", str: "str", Path: "path"}
_SCALARS = "bool, int, float, str, pathlib.Path, an enumeration or a Literal of str"


@dataclass(frozen=True)
class FlagType:
    """The type of a registered flag."""

    name: str
    """As the extension module names it: `bool`, `int`, `float`, `str`, `path`, `choice`, or `list of int`."""
    choices: tuple[str, ...] = ()
    enumeration: type[enum.Enum] | None = None

    @property
    def is_number(self) -> bool:
        """Whether the flag or its items have a minimum and a maximum."""
        return self.name.removeprefix("list of ") in ("int", "float")

    def plain(self, value: Any) -> Any:
        """Return a value with the names of members in place of the members."""
        if self.enumeration is None:
            return value
        if isinstance(value, list | tuple):
            return [self.plain(item) for item in value]
        return value.name if isinstance(value, self.enumeration) else value


def flag_type_of(call: str, default: Any, type: Any, choices: Any) -> FlagType:
    """Return the type of a flag. Messages begin with `call`."""
    if choices is not None:
        return FlagType("choice", _checked_choices(call, type, choices))
    if type is None:
        return _of_default(call, default)
    items = get_args(type)
    match get_origin(type):
        case origin if origin is list or (origin is tuple and items[1:] == (...,)):
            item = _scalar(call, "an item of type", items[0])
            return FlagType(f"list of {item.name}", item.choices, item.enumeration)
        case _ if type in (list, tuple) or get_origin(type) is tuple:
            raise FlagTypeError(
                f"{call}: type must name the type of the items, as list[int] or tuple[int, ...] do, "
                f"got {shown(type)}"
            )
        case _:
            return _scalar(call, "type", type)


def _checked_choices(call: str, type: Any, choices: Any) -> tuple[str, ...]:
    if isinstance(choices, str):
        raise FlagTypeError(f"{call}: choices must be a sequence of str, got a single str")
    if get_origin(type) is Literal:
        raise FlagTypeError(f"{call}: choices must not be given if type is a Literal")
    if type not in (None, str):
        raise FlagTypeError(f"{call}: type must be str or None if choices are given")
    return _names(call, choices)


def _names(call: str, choices: Sequence[Any]) -> tuple[str, ...]:
    names = tuple(choices)
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise FlagTypeError(
            f"{call}: choices must be a sequence of str, got an item of type {wrong.__class__.__name__}"
        )
    return names


def _scalar(call: str, argument: str, given: Any) -> FlagType:
    """Return the type that `argument` names."""
    if get_origin(given) is Literal:
        return FlagType("choice", _names(call, get_args(given)))
    if isinstance(given, type) and issubclass(given, enum.Enum):
        members: type[enum.Enum] = given
        if issubclass(members, enum.Flag):
            raise FlagTypeError(
                f"{call}: {argument} must not be a subclass of enum.Flag, whose members can be combined, got "
                f"{members.__name__}"
            )
        if not len(members):
            raise FlagTypeError(f"{call}: {argument} must have members, got {members.__name__}")
        return FlagType("choice", tuple(member.name for member in members), members)
    name = next((name for known, name in _NAMES.items() if known is given), None)
    if name is None:
        hint = "; a flag with optional=True also accepts None" if type(None) in get_args(given) else ""
        raise FlagTypeError(
            f"{call}: {argument} must be {_SCALARS}, or a list of one of them, got {shown(given)}{hint}"
        )
    return FlagType(name)


def _of_default(call: str, default: Any) -> FlagType:
    """Return the type of a flag that is registered without one."""
    if not isinstance(default, list | tuple):
        return _scalar(call, "type", _class_of_default(call, default))
    if not default:
        raise FlagTypeError(f"{call}: type must be given if the default is empty, for example list[int]")
    # A list of floats accepts ints.
    is_of_floats = any(isinstance(item, float) for item in default) and type(default[0]) is int
    item = _scalar(call, "type", float if is_of_floats else _class_of_default(call, default[0]))
    return FlagType(f"list of {item.name}", item.choices, item.enumeration)


def _class_of_default(call: str, default: Any) -> Any:
    """Return the scalar type of a default or of an item of it."""
    # First, because members may be ints or strs.
    if isinstance(default, enum.Enum):
        return default.__class__
    if isinstance(default, PathLike):
        return Path
    found = next((known for known in _NAMES if isinstance(default, known)), None)
    if found is None:
        hint = "; give the type of a flag whose default is None" if default is None else ""
        raise FlagTypeError(
            f"{call}: default must be a bool, an int, a float, a str, a path, a member of an "
            f"enumeration or a list of one of them, got {default.__class__.__name__}{hint}"
        )
    return found
