"""The device of the tensors of this folder's tests, and the number of threads of their operations."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest
from interlock._features import HAS_TENSORS

collect_ignore_glob = [] if HAS_TENSORS else ["test_*.py"]


@pytest.fixture(params=["cpu", "device"])
def everywhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test twice: with tensors on the CPU, and on the second device."""
    name: str = "cpu" if request.param == "cpu" else request.getfixturevalue("devices")[1]
    with interlock.device(name):
        yield name


@pytest.fixture
def num_threads_restored() -> Iterator[None]:
    """Restore the number of threads after a test."""
    before = interlock.get_num_threads()
    yield
    interlock.set_num_threads(before)
