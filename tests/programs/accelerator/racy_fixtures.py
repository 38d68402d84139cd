"""Tests whose fixtures race, among themselves or with the test, for the pytest plugin."""

import interlock
import pytest
from interlock.accelerator import memory


def fill(buffer):
    buffer.fill_(1, stream=interlock.Stream(dedicated=True))


@pytest.fixture
def filled(interlock_devices):
    buffer = memory.Buffer(64)
    fill(buffer)
    return buffer


@pytest.fixture
def racing(filled):
    fill(filled)


@pytest.fixture(scope="module")
def racing_module(_interlock_host_devices):
    buffer = memory.Buffer(64)
    fill(buffer)
    fill(buffer)


@pytest.fixture
def racing_at_end(interlock_devices):
    yield
    buffer = memory.Buffer(64)
    fill(buffer)
    fill(buffer)


def test_filled(filled):
    fill(filled)


def test_racing(racing):
    pass


def test_racing_module(racing_module):
    pass


def test_racing_at_end(racing_at_end):
    pass


def test_later(racing_module, filled):
    pass


def test_failing(racing):
    raise ValueError("of the test")


@pytest.mark.interlock_races("intended")
def test_intended(racing, racing_at_end):
    pass
