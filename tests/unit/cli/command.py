"""Runs `python -m interlock` in a child process and parses its output."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tests.helpers import fake_libraries
from tests.helpers.subprocess import Result, run_command

# No device, and no variables that affect terminal output.
NEUTRAL = dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "COLUMNS"), "") | {"INTERLOCK_ACCELERATOR": "none"}
COMMAND = (sys.executable, "-P", "-m", "interlock")


def variables(more: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without libraries, devices and colours, plus these variables."""
    return fake_libraries.environment() | NEUTRAL | dict(more)


def interlock(*arguments: str, **more: str) -> Result:
    """Run the command in an environment with these variables."""
    return run_command([*COMMAND, *arguments], env=variables(more))


def text(*arguments: str, **more: str) -> str:
    """Return the standard output of the command, which must exit with 0 and an empty stderr."""
    done = interlock(*arguments, **more)
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def document(*arguments: str, **more: str) -> Any:
    """Return the parsed output of the command with `--json`."""
    return json.loads(text(*arguments, "--json", **more))


def sections(printed: str) -> dict[str, list[list[str]]]:
    """Return the rows of each section as lists of cells; text below a row is its last cell."""
    found: dict[str, list[list[str]]] = {}
    for line in filter(None, printed.splitlines()):
        if not line.startswith(" "):
            rows = found.setdefault(line, [])
        elif line.startswith("    "):
            rows[-1].append(line.strip())
        else:
            rows.append(re.split(" {2,}", line.strip()))
    return found


def keys(shown: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the values of a document; the keys below `extra` depend on the driver."""
    if isinstance(shown, dict) and not path.endswith(".extra"):
        for key, value in shown.items():
            yield from keys(value, f"{path}.{key}".removeprefix("."))
    elif isinstance(shown, list) and shown and isinstance(shown[0], dict):
        yield from keys(shown[0], f"{path}[]")
    else:
        yield path
