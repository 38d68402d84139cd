"""Fixtures of every test."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest

from tests.leaks import no_leak
from tests.worker import Worker

__all__ = ["no_leak", "restored", "workers"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--driver",
        default="host",
        help="the driver whose devices tests/accelerator uses: host, or a registered one",
    )


@pytest.fixture
def restored(no_leak: None) -> Iterator[None]:
    """Put the process's flags back after a test that assigns them."""
    before = interlock.backends.snapshot()
    yield
    interlock.backends.restore(before)


@pytest.fixture
def workers() -> Iterator[tuple[Worker, Worker]]:
    """Two threads that do what they are told, one step at a time."""
    pair = (Worker(), Worker())
    yield pair
    for worker in pair:
        worker.stop()
