"""Prints the messages of the launcher."""

from __future__ import annotations

from collections.abc import Collection

from interlock import _console
from interlock._launcher.topology import format_cpulist

__all__ = ["instances_text", "log", "show"]

_EXIT_OUTPUT_ERROR = 1


def log(message: str) -> None:
    """Write a message to standard error, with the prefix `run_cpu: `."""
    _console.print_error(f"run_cpu: {message}")


def show(text: str) -> int:
    """Write a text to standard output and return the exit status."""
    try:
        _console.print_output(f"{text}\n")
    except _console.OutputError as error:
        log(str(error))
        return _EXIT_OUTPUT_ERROR
    return 0


def instances_text(indexes: Collection[int]) -> str:
    """Return a list of instances as text: `instance 0`, `instances 0-3`."""
    return f"instance{'' if len(indexes) == 1 else 's'} {format_cpulist(indexes)}"
