"""What the launcher itself says, and where."""

from __future__ import annotations

from interlock import _console

__all__ = ["say", "show"]

_NOT_WRITTEN = 1


def say(message: str) -> None:
    """Tell people something on standard error, without getting into what instances print."""
    _console.tell(f"run_cpu: {message}")


def show(text: str) -> int:
    """Write what was asked for to standard output, and return the exit code."""
    try:
        _console.write(f"{text}\n")
    except _console.OutputError as error:
        say(str(error))
        return _NOT_WRITTEN
    return 0
