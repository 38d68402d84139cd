"""Fails tests in which work of streams races."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from interlock._races import Race, detect_races


class RaceCheck:
    """The part of the plugin that `--interlock-races` requests."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Detect races in the call of a test."""
        if item.get_closest_marker("interlock_races"):
            return (yield)
        with detect_races() as races:
            result = yield
        if races:
            pytest.fail("\n\n".join(map(_report, races)), pytrace=False)
        return result


def _report(race: Race) -> str:
    """Return a report without the lines of pytest, which call the test."""
    lines = str(race).splitlines()
    return "\n".join(line for line in lines if "/_pytest/" not in line and "/pluggy/" not in line)
