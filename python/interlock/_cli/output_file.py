"""Protects files that an option with a file does not name on purpose, such as the program to run."""

from __future__ import annotations

import os

from interlock._cli.collect import UsageError
from interlock._console import OutputError


def check_replaceable(option: str, name: str, beginning: str) -> None:
    """Refuse a file with content that the option has not written.

    Args:
        option: The command and its option, for the message.
        name: The file in the command line. A device, a pipe or an empty file has nothing to lose.
        beginning: The text with which each file of the option begins.

    Raises:
        UsageError: The file has other content.
        OutputError: It cannot be read.

    """
    if not os.path.isfile(name):
        return
    try:
        with open(name, "rb") as file:
            found = file.read(len(beginning.encode()))
    except OSError as error:
        raise OutputError(f'cannot read "{name}": {error.strerror}') from error
    if found and found != beginning.encode():
        raise UsageError(f'{option} must name a new file, or one that it has written before, got "{name}"')
