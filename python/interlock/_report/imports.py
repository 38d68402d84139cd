"""Modules that are imported because they register flags."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterable


class NotImportedError(Exception):
    """A module that was named with `--import` can't be imported."""


def import_all(names: Iterable[str]) -> None:
    """Import modules, in this order. Raises `NotImportedError` for the first that fails.

    What a module prints while it is imported goes to standard error: standard output is the report's.
    """
    for name in names:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                importlib.import_module(name)
        # Also SystemExit: the report was asked for, and not what the module does when it is run.
        except (Exception, SystemExit) as error:
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            raise NotImportedError(
                f'--import: module "{name}" cannot be imported: {type(error).__name__}: {reason}'
            ) from error
