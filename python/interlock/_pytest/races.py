"""Fails tests in which work of streams races."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from interlock._races import Race, Races, detect_races


class RaceCheck:
    """The part of the plugin that `--interlock-races` requests.

    The detection of a test lasts from its setup to its teardown, so that work of fixtures is part of it.
    """

    def __init__(self) -> None:
        self._detection: detect_races | None = None
        self._races: Races | None = None
        # How many races are reported, or belong to a phase that has failed otherwise.
        self._known = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Begin to detect races before the fixtures of a test."""
        if not item.get_closest_marker("interlock_races"):
            detection, self._known = detect_races(), 0
            self._races = detection.__enter__()
            self._detection = detection
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Fail a test whose call, or whose fixtures before it, race."""
        if self._races is None:
            return (yield)
        try:
            result = yield
        finally:
            self._races.update()
            found = self._new()
        _check(found)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Fail the teardown of a test if it races, and end the detection after the last fixture."""
        detection, self._detection = self._detection, None
        if detection is None:
            return (yield)
        try:
            result = yield
        finally:
            detection.__exit__(None, None, None)
            found, self._races = self._new(), None
        _check(found)
        return result

    def _new(self) -> list[Race]:
        """Return the races since the last call."""
        assert self._races is not None
        found = self._races[self._known :]
        self._known = len(self._races)
        return found


def _check(races: list[Race]) -> None:
    if races:
        pytest.fail("\n\n".join(map(_report, races)), pytrace=False)


def _report(race: Race) -> str:
    """Return a report without the lines of pytest, which call the test."""
    lines = str(race).splitlines()
    return "\n".join(line for line in lines if "/_pytest/" not in line and "/pluggy/" not in line)
