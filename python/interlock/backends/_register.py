"""Flags of other libraries, on the registry of interlock's own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from interlock._core import backends as _native
from interlock.errors import FlagEnvironmentWarning, FlagTypeError

_T = TypeVar("_T")
_Text = TypeVar("_Text", bound=str)


class Flag(_native.FlagHandle, Generic[_T]):
    """A flag that a library has registered."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def value(self) -> _T:
            """The value in force on this thread."""

        @value.setter
        def value(self, value: _T) -> None: ...
        @value.deleter
        def value(self) -> None: ...
        def override(self, value: _T) -> _native.FlagScope:
            """Decide the flag for this thread: a context manager and a decorator."""

    def __repr__(self) -> str:
        return f"Flag({self.name!r})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is no truth value: read its value, {self.name}.value")

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Flag) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[type[Flag[Any]], tuple[str]]:
        return type(self), (self.name,)


@overload
def register(
    name: str, default: bool, *, doc: str, choices: None = None, maximum: None = None
) -> Flag[bool]: ...
@overload
def register(
    name: str, default: int, *, doc: str, choices: None = None, maximum: int | None = None
) -> Flag[int]: ...
@overload
def register(
    name: str, default: _Text, *, doc: str, choices: Sequence[_Text], maximum: None = None
) -> Flag[_Text]: ...
def register(
    name: str,
    default: Any,
    *,
    doc: str,
    choices: Sequence[str] | None = None,
    maximum: int | None = None,
) -> Flag[Any]:
    """Add a flag of a library to the registry, with the levels, scopes and freeze of interlock's own.

    `name` is dotted and begins with the library's: `mylib.verbose`, which the environment sets as
    `MYLIB_VERBOSE`. The default says what the flag takes: a bool; an int from 0 to `maximum` (at most and by
    default 2**60); or one of the strings `choices`. `override`, `explain`, `snapshot`, `restore` and `reset`
    know the flag from then on. To register the same again gives an equal `Flag`. What `restore`
    brought before the flag was registered is assigned now.

    Raises `FlagRegistrationError` (a ValueError) for a name or variable that is taken, interlock's own or no
    dotted name, and for a default that is none of the values; `FlagTypeError` for another type. A
    variable that does not fit is warned of (`FlagEnvironmentWarning`) and counts as unset.

    >>> from interlock import backends
    >>> verbose = backends.register("mylib.verbose", False, doc="Whether mylib prints what it does.")
    >>> with verbose.override(True):
    ...     verbose.value, backends.explain("mylib.verbose").level
    (True, <Level.SCOPE: 'scope'>)
    >>> verbose.value
    False
    """
    for argument, given in (("name", name), ("doc", doc)):
        if not isinstance(given, str):
            raise FlagTypeError(
                f"register() takes {argument}, a str, got a value of type {type(given).__name__}"
            )
    if isinstance(choices, str):
        raise FlagTypeError("register() takes choices, a sequence of str, got one str")
    for variable, problem in _native.register_flag(name, default, doc, choices, maximum):
        warnings.warn(f"{variable} is ignored: {problem}", FlagEnvironmentWarning, stacklevel=2)
    return Flag(name)
