"""Renders flags as a table in Markdown, for the documentation of a library."""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock._cli.collect import ExplainedFlag

_COLUMNS = ("flag", "type", "default", "environment variable", "meaning")


def markdown(flags: Iterable[ExplainedFlag]) -> str:
    """Return a table of flags, with a sentence below it for each time when variables are read.

    It contains no values, so that it does not depend on the environment in which it is made.
    """
    shown = tuple(flags)
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *map(_row, shown)]
    table = [f"| {' | '.join(row)} |" for row in rows]
    times = dict.fromkeys(flag.variables_read for flag in shown if flag.variables_read is not None)
    sentences = [_sentence(time, shown) if len(times) > 1 else _sentence(time, ()) for time in times]
    return "\n".join([*table, "", *sentences]).rstrip("\n") + "\n"


def _row(flag: ExplainedFlag) -> tuple[str, ...]:
    meaning = flag.documentation
    if flag.accepts is not None:
        if not meaning.endswith((".", "!", "?", ":")):
            meaning += "."
        meaning += f" It accepts {flag.accepts}" + (
            f", checked by `{flag.validator}`." if flag.validator else "."
        )
    cells = (
        _code(flag.name),
        _code(flag.type),
        _code(repr(flag.default)),
        "<br>".join(map(_code, flag.variables)) or "none",
        " ".join(meaning.split()),
    )
    return tuple(cell.replace("|", "\\|") for cell in cells)


def _code(text: str) -> str:
    # A longer delimiter than each row of backticks in the text.
    rows = re.findall("`+", text)
    if not rows:
        return f"`{text}`"
    delimiter = "`" * (max(map(len, rows)) + 1)
    return f"{delimiter} {text} {delimiter}"


def _sentence(time: str, flags: Iterable[ExplainedFlag]) -> str:
    """Return when variables are read: those of all flags, or with several times those of the flags named."""
    which = ", ".join(flag.name for flag in flags if flag.variables_read == time)
    of_flags = f"The variables of {which} are" if which else "The environment variables are"
    return f"{of_flags} read once, {time}; later changes have no effect."
