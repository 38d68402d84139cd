"""Messages: values of the caller on one line and bounded in length, and warnings at a line of the program."""

from __future__ import annotations

import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

__all__ = ["counted", "open_file", "path_of", "printable", "quoted", "shown", "warn_program"]

# As many characters of an argument as the messages of the extension module repeat.
_LONGEST = 100


def shown(value: object) -> str:
    """Return the repr of an argument for a message."""
    return _shortened(repr(value))


def quoted(text: str) -> str:
    """Return a text in double quotes, as the extension module shows it."""
    return f'"{_shortened(repr(text)[1:-1])}"'


def counted(count: float, noun: str) -> str:
    """Return a number with its noun in singular or plural: `1 core`, `2 cores`."""
    number = f"{count:g}" if isinstance(count, float) else count
    return f"{number} {noun}{'' if count == 1 else 's'}"


def printable(text: str, longest: int = 2 * _LONGEST) -> str:
    """Return a text without quotes on one line, such as a name or a message of another process.

    Args:
        text: The text.
        longest: As many characters of it are repeated.

    """
    begin = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[:longest])
    return begin if len(text) <= longest else f"{begin}..."


def _shortened(text: str) -> str:
    return printable(text, _LONGEST)


def path_of(function: str, path: object) -> str | bytes:
    """Return the name of the file that is the argument `path` of a function.

    Raises:
        TypeError: `path` is neither a str nor a path. `open` itself would use an int as the descriptor of an
            open file, and close it.

    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{function}: path must be a str or a path, got {type(path).__name__}")
    return os.fspath(path)


def open_file(function: str, path: object, mode: str, **options: Any) -> IO[Any]:
    """Open the file that is the argument `path` of a function.

    Raises:
        TypeError: `path` is neither a str nor a path.
        OSError: The file cannot be opened.

    """
    name = path_of(function, path)
    try:
        return open(name, mode, **options)
    except OSError as error:
        if len(name) <= _LONGEST:
            raise
        raise type(error)(error.errno, error.strerror, _shortened(os.fsdecode(name))) from None


def warn_program(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost line of the program, which may only import interlock or a library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_globals.get("__name__", "").partition(".")[0] in ("interlock", "importlib")
        or frame.f_code.co_filename.startswith("<frozen importlib")
    ):
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
