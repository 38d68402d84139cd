"""MPS, the backend for Apple's GPUs, for which interlock has no driver."""

from __future__ import annotations

import sys
from typing import NoReturn

from interlock._core import backends as _native
from interlock.errors import NoAcceleratorError

__all__ = [
    "get_core_count",
    "get_name",
    "is_available",
    "is_built",
    "is_macos13_or_newer",
    "is_macos_or_newer",
]


def is_built() -> bool:
    """Return False: interlock has no driver for MPS."""
    return False


def is_available() -> bool:
    """Return False: interlock has no driver for MPS."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Raise `NoAcceleratorError`: interlock has no driver for MPS.

    Args:
        major: The major version of macOS; ignored.
        minor: The minor version of macOS; ignored.

    """
    _raise_unavailable("is_macos_or_newer")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Raise `NoAcceleratorError`: interlock has no driver for MPS.

    Args:
        minor: The minor version of macOS 13; ignored.

    """
    _raise_unavailable("is_macos13_or_newer")


def get_name() -> str:
    """Raise `NoAcceleratorError`: interlock has no driver for MPS."""
    _raise_unavailable("get_name")


def get_core_count() -> int:
    """Raise `NoAcceleratorError`: interlock has no driver for MPS."""
    _raise_unavailable("get_core_count")


def _raise_unavailable(function: str) -> NoReturn:
    raise NoAcceleratorError(f"backends.mps.{function}: interlock has no driver for MPS")


sys.modules[__name__].__class__ = _native.MpsModule
