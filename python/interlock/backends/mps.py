"""MPS: Apple's GPUs. interlock has no driver for them, so there is nothing that could be used."""

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
    """Raise `NoAcceleratorError`: without MPS there is no system that it runs on."""
    _refuse("is_macos_or_newer")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Raise `NoAcceleratorError`: without MPS there is no system that it runs on."""
    _refuse("is_macos13_or_newer")


def get_name() -> str:
    """Raise `NoAcceleratorError`: without MPS there is no device to name."""
    _refuse("get_name")


def get_core_count() -> int:
    """Raise `NoAcceleratorError`: without MPS there is no device with cores."""
    _refuse("get_core_count")


def _refuse(function: str) -> NoReturn:
    raise NoAcceleratorError(f"backends.mps.{function}() needs MPS, and interlock has no driver for it")


sys.modules[__name__].__class__ = _native.MpsModule
