"""Registration of flags of other libraries."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from interlock._arguments import as_bool
from interlock._core import backends as _native
from interlock._core.backends import FlagChange
from interlock._quote import quoted
from interlock._scope_decorator import resumable_kind
from interlock.backends._type_variables import Also_contra, Value, Value_co
from interlock.errors import FlagEnvironmentWarning, FlagTypeError

if TYPE_CHECKING:
    from pathlib import Path, PurePath
    from typing import Protocol, SupportsIndex

    from typing_extensions import TypeForm

    _Number = TypeVar("_Number", bound=float)
    _Value = TypeVar("_Value", bound=float | str)
    _Text = TypeVar("_Text", bound=str)
    _Member = TypeVar("_Member", bound=enum.Enum)
    _Item = TypeVar("_Item", bound=float | str)
    _Named = TypeVar("_Named", bound=enum.Enum | PurePath)

    # A list or a tuple, which a list of only some of the types is, too; but not a str.
    class _ListOf(Protocol[Value_co]):
        def __iter__(self) -> Iterator[Value_co]: ...
        def __contains__(self, item: object, /) -> bool: ...
        def __mul__(self, times: SupportsIndex, /) -> object: ...


class Flag(_native.FlagHandle, Generic[Value, Also_contra]):
    """A flag of another library, which `register` returns.

    Args:
        name: The dotted name of a registered flag.

    Raises:
        UnknownFlagError: There is no flag of this name.
        FlagTypeError: `name` is not a str.

    """

    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:

        @property
        def value(self) -> Value:
            """The value in the current context. Assigning sets it for the process; deleting unsets it."""

        @value.setter
        def value(self, value: Value | Also_contra) -> None: ...
        @value.deleter
        def value(self) -> None: ...
        def override(self, value: Value | Also_contra) -> _native.FlagScope:
            """Context manager and decorator that sets the flag in the current context."""

    @classmethod
    def __class_getitem__(cls, arguments: Any, /) -> GenericAlias:
        # The second argument is optional, which `Generic` knows since Python 3.13.
        return GenericAlias(cls, arguments)

    def __repr__(self) -> str:
        return f"Flag({self.name!r})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: use {self.name}.value")

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Flag) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[type[Flag[Any]], tuple[str]]:
        return type(self), (self.name,)


@overload
def register(
    name: str,
    default: _Member,
    *,
    doc: str,
    type: type[_Member] | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Member], object] | None = None,
    on_change: Callable[[FlagChange[_Member]], object] | None = None,
) -> Flag[_Member, str]: ...
@overload
def register(
    name: str,
    default: _Member,
    *,
    doc: str,
    type: type[_Member] | None = None,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Member], object] | None = None,
    on_change: Callable[[FlagChange[_Member]], object] | None = None,
) -> Flag[_Member | None, str]: ...
@overload
def register(
    name: str,
    default: None,
    *,
    doc: str,
    type: type[_Member],
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Member], object] | None = None,
    on_change: Callable[[FlagChange[_Member]], object] | None = None,
) -> Flag[_Member | None, str]: ...
@overload
def register(
    name: str,
    default: _Number,
    *,
    doc: str,
    type: type[_Number] | None = None,
    minimum: _Number | None = None,
    maximum: _Number | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Number], object] | None = None,
    on_change: Callable[[FlagChange[_Number]], object] | None = None,
) -> Flag[_Number]: ...
# The two overloads in which mypy ignores an error overlap with one of a `TypeForm` below if `optional` is
# False; the overload above each is chosen then.
@overload
def register(  # type: ignore[overload-overlap]
    name: str,
    default: _Number,
    *,
    doc: str,
    type: type[_Number] | None = None,
    minimum: _Number | None = None,
    maximum: _Number | None = None,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Number], object] | None = None,
    on_change: Callable[[FlagChange[_Number]], object] | None = None,
) -> Flag[_Number | None]: ...
@overload
def register(
    name: str,
    default: str,
    *,
    doc: str,
    type: type[str] | None = None,
    choices: None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[str], object] | None = None,
    on_change: Callable[[FlagChange[str]], object] | None = None,
) -> Flag[str]: ...
@overload
def register(  # type: ignore[overload-overlap]
    name: str,
    default: str,
    *,
    doc: str,
    type: type[str] | None = None,
    choices: None = None,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[str], object] | None = None,
    on_change: Callable[[FlagChange[str]], object] | None = None,
) -> Flag[str | None]: ...
@overload
def register(
    name: str,
    default: PathLike[str],
    *,
    doc: str,
    type: type[Path] | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[Path], object] | None = None,
    on_change: Callable[[FlagChange[Path]], object] | None = None,
) -> Flag[Path, str | PathLike[str]]: ...
@overload
def register(
    name: str,
    default: PathLike[str],
    *,
    doc: str,
    type: type[Path] | None = None,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[Path], object] | None = None,
    on_change: Callable[[FlagChange[Path]], object] | None = None,
) -> Flag[Path | None, str | PathLike[str]]: ...
@overload
def register(
    name: str,
    default: str,
    *,
    doc: str,
    type: type[Path],
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[Path], object] | None = None,
    on_change: Callable[[FlagChange[Path]], object] | None = None,
) -> Flag[Path, str | PathLike[str]]: ...
@overload
def register(
    name: str,
    default: str | None,
    *,
    doc: str,
    type: type[Path],
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[Path], object] | None = None,
    on_change: Callable[[FlagChange[Path]], object] | None = None,
) -> Flag[Path | None, str | PathLike[str]]: ...
@overload
def register(
    name: str,
    default: list[_Item] | tuple[_Item, ...],
    *,
    doc: str,
    minimum: float | None = None,
    maximum: float | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Item, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Item, ...]]], object] | None = None,
) -> Flag[tuple[_Item, ...], list[_Item]]: ...
@overload
def register(
    name: str,
    default: list[_Item] | tuple[_Item, ...],
    *,
    doc: str,
    minimum: float | None = None,
    maximum: float | None = None,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Item, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Item, ...]]], object] | None = None,
) -> Flag[tuple[_Item, ...] | None, list[_Item]]: ...
@overload
def register(
    name: str,
    default: list[Any] | tuple[Any, ...],
    *,
    doc: str,
    type: type[list[_Item]] | type[tuple[_Item, ...]],
    minimum: float | None = None,
    maximum: float | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Item, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Item, ...]]], object] | None = None,
) -> Flag[tuple[_Item, ...], list[_Item]]: ...
@overload
def register(
    name: str,
    default: list[Any] | tuple[Any, ...] | None,
    *,
    doc: str,
    type: type[list[_Item]] | type[tuple[_Item, ...]],
    minimum: float | None = None,
    maximum: float | None = None,
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Item, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Item, ...]]], object] | None = None,
) -> Flag[tuple[_Item, ...] | None, list[_Item]]: ...
@overload
def register(
    name: str,
    default: list[_Named] | tuple[_Named, ...],
    *,
    doc: str,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Named, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Named, ...]]], object] | None = None,
) -> Flag[tuple[_Named, ...], _ListOf[_Named | str]]: ...
@overload
def register(
    name: str,
    default: list[_Named] | tuple[_Named, ...],
    *,
    doc: str,
    optional: bool,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Named, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Named, ...]]], object] | None = None,
) -> Flag[tuple[_Named, ...] | None, _ListOf[_Named | str]]: ...
@overload
def register(
    name: str,
    default: list[Any] | tuple[Any, ...],
    *,
    doc: str,
    type: type[list[_Named]] | type[tuple[_Named, ...]],
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Named, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Named, ...]]], object] | None = None,
) -> Flag[tuple[_Named, ...], _ListOf[_Named | str]]: ...
@overload
def register(
    name: str,
    default: list[Any] | tuple[Any, ...] | None,
    *,
    doc: str,
    type: type[list[_Named]] | type[tuple[_Named, ...]],
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[tuple[_Named, ...]], object] | None = None,
    on_change: Callable[[FlagChange[tuple[_Named, ...]]], object] | None = None,
) -> Flag[tuple[_Named, ...] | None, _ListOf[_Named | str]]: ...
@overload
def register(
    name: str,
    default: _Text,
    *,
    doc: str,
    type: None = None,
    choices: Sequence[_Text],
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Text], object] | None = None,
    on_change: Callable[[FlagChange[_Text]], object] | None = None,
) -> Flag[_Text]: ...
@overload
def register(
    name: str,
    default: _Text | None,
    *,
    doc: str,
    type: None = None,
    choices: Sequence[_Text],
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Text], object] | None = None,
    on_change: Callable[[FlagChange[_Text]], object] | None = None,
) -> Flag[_Text | None]: ...
@overload
def register(
    name: str,
    default: _Value,
    *,
    doc: str,
    type: TypeForm[_Value],
    minimum: float | None = None,
    maximum: float | None = None,
    optional: Literal[False] = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Value], object] | None = None,
    on_change: Callable[[FlagChange[_Value]], object] | None = None,
) -> Flag[_Value]: ...
@overload
def register(
    name: str,
    default: _Value | None,
    *,
    doc: str,
    type: TypeForm[_Value],
    minimum: float | None = None,
    maximum: float | None = None,
    optional: bool = True,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[_Value], object] | None = None,
    on_change: Callable[[FlagChange[_Value]], object] | None = None,
) -> Flag[_Value | None]: ...
def register(
    name: str,
    default: Any,
    *,
    doc: str,
    type: Any = None,
    choices: Sequence[str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    optional: bool = False,
    variable: str | None = None,
    affects: str | None = None,
    validator: Callable[[Any], object] | None = None,
    on_change: Callable[[FlagChange], object] | None = None,
) -> Flag[Any]:
    """Register a flag of another library, with the levels, scopes and freezing of interlock's flags.

    `override`, `explain`, `snapshot`, `restore` and `reset` support the flag from then on. A value that
    `restore` received before the registration is assigned now. Registering a flag again with the same name,
    type, values, default and variable returns an equal `Flag`. Its `validator` and `on_change` replace
    functions of the same module and name, as after `importlib.reload`; other functions, `doc` and `affects`
    are ignored.

    The environment variable is read once, by this call: a program must set it before it imports the library.

    A library should register its flags while it is imported. `check_variables` warns of misspelt environment
    variables.

    Args:
        name: The dotted name, which begins with the name of the library: `mylib.verbose`.
        default: The default value, which also determines the type of the flag.
        doc: What the flag does, in a sentence.
        type: The type, if it differs from that of the default: for the default None and for an empty list,
            `float` for an int, `Path` for a str. It is `bool`, `int`, `float`, `str`, `pathlib.Path`, an
            enumeration, or a list of one of them: `list[int]` or `tuple[int, ...]`. `Literal["a", "b"]` gives
            the choices of a str flag, and type checkers infer it.
        choices: The values that a str flag accepts. Without choices it accepts any str of at most 65,536
            bytes, and each assigned value stays in memory until the process ends.
        minimum: The smallest accepted number, also of the items of a list. Default: 0 for an int flag, no
            limit for a float flag. An int flag accepts at least -2**60.
        maximum: The largest accepted number. Default: 2**60 for an int flag, no limit for a float flag.
        optional: Whether the flag also accepts None. Always True if the default is None.
        variable: The environment variable that sets the flag. Default: the name in capitals, `MYLIB_VERBOSE`.
        affects: A description of what the flag affects, which `explain` returns.
        validator: Called with each value that has the type of the flag, except None, before it is stored: the
            default, the value of the variable, and values that are assigned, restored or given to `override`.
            It refuses the value by raising an exception or returning False, and accepts it by returning None
            or True. A refused value raises `FlagValueError`, caused by the exception, and changes nothing;
            one of the environment issues `FlagEnvironmentWarning`.
        on_change: Called with a `FlagChange` after each write of the flag, and after the enter and exit of a
            scope that sets it, until the flag is unregistered. It is called as the function of
            `backends.on_change` is: on the thread that made the change, outside of all locks. It may read and
            write flags, and its own writes and scopes of the flag call it again. Its exceptions are reported
            through `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the
            change.

    Returns:
        The flag, typed by its values.

    Raises:
        FlagRegistrationError: The name or the variable is invalid or taken, the default is not an accepted
            value, or the flag is already registered with other properties.
        FlagTypeError: An argument has the wrong type.

    Example:
        >>> from interlock import backends
        >>> verbose = backends.register("mylib.verbose", False, doc="Whether mylib prints what it does.")
        >>> with verbose.override(True):
        ...     verbose.value, backends.explain("mylib.verbose").level
        (True, <Level.SCOPE: 'scope'>)
        >>> verbose.value
        False
        >>> timeout = backends.register("mylib.timeout", None, type=float, doc="The timeout in seconds.")
        >>> with timeout.override(0.5):
        ...     timeout.value
        0.5

    """
    if not isinstance(name, str):
        raise FlagTypeError(f"register: name must be a str, got {name.__class__.__name__}")
    call = f"register({quoted(name)})"
    for argument, value in (("doc", doc), ("variable", variable), ("affects", affects)):
        if not isinstance(value, str) and (value is not None or argument == "doc"):
            raise FlagTypeError(f"{call}: {argument} must be a str, got {value.__class__.__name__}")
    for argument, function in (("validator", validator), ("on_change", on_change)):
        if function is not None and not callable(function):
            raise FlagTypeError(f"{call}: {argument} must be callable, got {function.__class__.__name__}")
        if function is not None and (kind := resumable_kind(function)) is not None:
            raise FlagTypeError(f"{call}: {argument} must be a plain function, got a {kind} function")
    optional = as_bool(f"{call}: optional", optional, FlagTypeError)
    # Imported on use, because `import interlock` would load dataclasses.
    from interlock.backends._registered_type import flag_type_of

    flag_type = flag_type_of(call, default, type, choices)
    values: list[Any] = list(flag_type.choices)
    if flag_type.is_number:
        values = [minimum, maximum]
    elif minimum is not None or maximum is not None:
        raise FlagTypeError(
            f"{call}: minimum and maximum require an int or float flag, but it is a {flag_type.name}"
        )
    problems = _native.register_flag(
        name,
        flag_type.plain(default),
        doc,
        flag_type.name,
        values,
        optional or default is None,
        variable,
        affects,
        flag_type.enumeration,
        validator,
        on_change,
    )
    if observers:
        again = partial(
            register,
            name,
            default,
            doc=doc,
            type=type,
            choices=choices,
            minimum=minimum,
            maximum=maximum,
            optional=optional,
            variable=variable,
            affects=affects,
            validator=validator,
            on_change=on_change,
        )
        for observe in observers:
            observe(name, again)
    for source, problem in problems:
        warning = FlagEnvironmentWarning(f"{source} is ignored: {problem}")
        warning.__cause__ = problem
        warnings.warn(warning, stacklevel=2)
    return Flag(name)


observers: list[Callable[[str, Callable[[], object] | None], None]] = []
"""Called with the name of a flag that Python code has registered, and what registers it once more.

Called with None instead for a flag that was unregistered.
"""


def unregister(name: str | Flag[Any]) -> None:
    """Remove a flag that `register` has added, for example at the end of a test.

    Its name may then be registered again, also with another type. Reading, assigning and scoping the flag
    through its `Flag` raise `UnknownFlagError` from then on. Open scopes and captured states that set the
    flag stay as they are, and their value of it has no effect. Freezing flags does not prevent it.

    Args:
        name: The dotted name of the flag, or its `Flag`.

    Raises:
        FlagRegistrationError: It is a flag of interlock.
        UnknownFlagError: There is no flag of this name.
        FlagTypeError: `name` is neither a str nor a `Flag`.

    Example:
        >>> from interlock import backends
        >>> level = backends.register("mylib.level", 1, doc="How much mylib prints.")
        >>> backends.unregister("mylib.level")
        >>> level.value
        Traceback (most recent call last):
            ...
        interlock.errors.UnknownFlagError: mylib.level was unregistered

    """
    name = name.name if isinstance(name, Flag) else name
    _native.unregister_flag(name)
    for observe in observers:
        observe(name, None)


def check_variables(library: str) -> None:
    """Warn of environment variables whose names resemble those of a library's flags.

    A `FlagEnvironmentWarning` is issued once per process for each variable that begins with the library's
    prefix, is not read by a registered flag, and has a name similar to that of a flag's variable. Call it
    after the last registration, and not at all if modules that are imported on demand register more flags.
    `explain` and the report of `python -m interlock` check the variables, too.

    Args:
        library: The first part of the names of the flags, such as `mylib`.

    Raises:
        FlagTypeError: `library` is not a str.

    Example:
        >>> from interlock import backends
        >>> verbose = backends.register("mylib.verbose", False, doc="Whether mylib prints what it does.")
        >>> backends.check_variables("mylib")

    """
    if not isinstance(library, str):
        raise FlagTypeError(f"check_variables: library must be a str, got {library.__class__.__name__}")
    warn_of_variables(library, stacklevel=3)


def warn_of_variables(library: str, stacklevel: int) -> None:
    """Warn of variables whose names resemble those of a library's flags, once per process for each."""
    for variable, problem in _native.misspelt_variables(library):
        if variable not in _warned:
            _warned.add(variable)
            warnings.warn(f"{variable} is ignored: {problem}", FlagEnvironmentWarning, stacklevel)


_warned: set[str] = set()
