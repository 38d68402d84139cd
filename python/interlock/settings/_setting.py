"""The declaration of a setting: how it is read and written, and where its library stores it."""

from __future__ import annotations

import enum
import functools
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from interlock._quote import shown
from interlock.errors import SettingValueError

_FUNCTIONS = ("get", "set", "convert", "restore", "too_late")
# As many characters of the message of a library are repeated.
_LONGEST_REASON = 100


class Extent(enum.StrEnum):
    """Where a library stores a setting."""

    PROCESS = "process"
    THREAD = "thread"
    CONTEXT = "context"


class Unreadable(NamedTuple):
    """The value of a setting whose library raises when it is read."""

    reason: str

    def __str__(self) -> str:
        return f"unreadable: {self.reason}"


@dataclass(frozen=True, eq=False)
class Setting:
    """One setting of a library.

    `get`, `set` and `restore` are called with a lock of the setting, or of its family. They may wait for
    other threads, but not for one that sets this setting or another one of the family.

    Example:
        >>> from interlock import settings
        >>> config = {"verbose": False}
        >>> verbose = settings.Setting(
        ...     "mylib.verbose",
        ...     get=lambda: config["verbose"],
        ...     set=lambda value: config.update(verbose=value),
        ... )
        >>> with settings.register(verbose), settings.override({"mylib.verbose": True}):
        ...     config["verbose"]
        True
        >>> config["verbose"]
        False

    """

    name: str
    """The path that users of the library write, such as `torch.backends.cudnn.benchmark`."""
    get: Callable[[], Any]
    """Returns the value: None, a bool, a number or a string, so that it can be stored as JSON."""
    set: Callable[[Any], object] | None = None
    """Writes a value; None for a setting that can only be read."""
    extent: Extent | Literal["process", "thread", "context"] = Extent.PROCESS
    """Where the library stores the setting: `process`, `thread` or `context`."""
    default: Any = None
    """The value that the library has without any write; None if it depends on the machine."""
    doc: str = ""
    """One sentence about the setting."""
    note: str = ""
    """A hazard of the setting; `explain` shows it."""
    guards: tuple[str, ...] = ()
    """The compilers that react to a change, such as `torch.compile`, which recompiles."""
    convert: Callable[[Any], Any] | None = None
    """Returns a value in the form in which `get` returns it, or raises; None to use values as they are."""
    restore: Callable[[Any], object] | None = None
    """Puts an earlier value back, if that differs from writing it; None to use `set`.

    A setting without `set` that has it can be put back, but not overridden: `convert` raises for values that
    cannot be put back.
    """
    writers: tuple[str, ...] = ()
    """The dotted paths of the library's functions that write the setting; they are wrapped."""
    writer_arguments: tuple[Any, ...] = ()
    """The first arguments of the writers that select this setting, if they write several."""
    family: str = ""
    """Settings of one family change together: a write of one is compared with all."""
    per_thread_reads: bool = False
    """Whether threads may read different values of a setting of the process, as of OpenMP's threads."""
    too_late: Callable[[], str] | None = None
    """Returns why the library ignores a write from now on, such as `torch imported before`, or an empty text.

    None for a setting that can always be written. The function must not wait for a lock.
    """
    watched: bool = field(default=True)
    """Whether a change without a write is reported; False for a setting that changes by itself."""

    def __post_init__(self) -> None:
        parts = self.name.split(".") if isinstance(self.name, str) else []
        if len(parts) < 2 or not all(parts):
            raise SettingValueError(
                f'Setting: name must be "<library>.<setting>", for example "mylib.verbose", '
                f"got {shown(self.name)}"
            )
        if self.extent not in list(Extent):
            raise SettingValueError(
                f"Setting: extent must be process, thread or context, got {shown(self.extent)}"
            )
        for argument in _FUNCTIONS:
            function = getattr(self, argument)
            if not callable(function) and (function is not None or argument == "get"):
                allowed = "callable" if argument == "get" else "callable or None"
                raise TypeError(f"Setting: {argument} must be {allowed}, got {shown(function)}")
        for argument in ("guards", "writers"):
            texts = getattr(self, argument)
            if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
                raise TypeError(f"Setting: {argument} must be a tuple of str, got {shown(texts)}")


def difference(one: Setting, other: Setting) -> str | None:
    """Return the first property in which two declarations of a setting differ, or None.

    Functions are compared by their modules and names, because `importlib.reload` makes new ones. Texts for
    people are not compared.
    """
    compared = (each.name for each in fields(one) if each.name not in ("doc", "note"))
    differing = (name for name in compared if _comparable(one, name) != _comparable(other, name))
    return next(differing, None)


def _comparable(setting: Setting, name: str) -> object:
    value = getattr(setting, name)
    if name not in _FUNCTIONS or value is None:
        return tuple(value) if isinstance(value, list) else value
    while isinstance(value, functools.partial):
        value = value.func
    named = value if hasattr(value, "__qualname__") else type(value)
    return getattr(named, "__module__", None), named.__qualname__


def read(setting: Setting) -> Any:
    """Return the value of a setting; an `Unreadable` if its library raises."""
    return attempt(setting.get)


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function of a library; an `Unreadable` if it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return Unreadable(reason_of(error))


def late(setting: Setting) -> str:
    """Return why the library ignores a write of a setting from now on; an empty text if it does not."""
    return "" if setting.too_late is None else setting.too_late()


def reason_of(error: BaseException) -> str:
    """Return the class of an exception of a library and its first line, shortened between words.

    Without the class if it is `SettingValueError`, which is the class of the message that the reason ends.
    """
    first = (str(error).strip() or "no reason given").splitlines()[0]
    reason = textwrap.shorten(first, _LONGEST_REASON, placeholder=" ...")
    return reason if isinstance(error, SettingValueError) else f"{type(error).__name__}: {reason}"


def converted(function: str, setting: Setting, value: Any) -> Any:
    """Return a value in the form in which it is read. Raises `SettingValueError` if it is not accepted."""
    if setting.set is None:
        raise SettingValueError(f"{function}: {setting.name} is read-only. {setting.note}".rstrip(". ") + ".")
    if setting.convert is None:
        return value
    try:
        return setting.convert(value)
    except SettingValueError as error:
        raise SettingValueError(f"{function}: {setting.name} {error}") from None
