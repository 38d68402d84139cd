"""Tests of a program with a race, for the pytest plugin."""

import interlock
import pytest
from interlock import accelerator

accelerator.use("host")


def race_once():
    one, other = interlock.Stream(), interlock.Stream()
    buffer = accelerator.memory.Buffer(64, stream=one).fill_(1, stream=one)
    buffer.copy_to(bytearray(64), stream=other)


def test_race():
    race_once()


@pytest.mark.interlock_races("intended")
def test_intended():
    race_once()


def test_nothing():
    pass
