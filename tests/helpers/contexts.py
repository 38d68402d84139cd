"""Tests in contexts of their own.

Other tests may have written a mode without a scope, which lasts for the context of all tests.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_a_new_context(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function that runs in an empty context, in which no mode and no device is set."""

    @functools.wraps(function)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return contextvars.Context().run(function, *arguments, **named)

    return run
