"""Environments with and without a driver library."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.accelerator import fake_driver


def a_driver_is_installed() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture
def no_driver(tmp_path: Path) -> dict[str, str]:
    """An environment in which no driver can be used."""
    if not a_driver_is_installed():
        return {"LD_LIBRARY_PATH": ""}
    return fake_driver.build(tmp_path, init=100)
