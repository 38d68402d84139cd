"""Skips what the driver's work cannot show."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def observed_work(driver: str) -> None:
    """Skip a test of races on another driver than the host's, whose work is not observed."""
    if driver != "host":
        pytest.skip("only the work of the host driver is observed")
