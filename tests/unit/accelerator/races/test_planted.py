"""All planted races are found, and none in a program that makes the missing order."""

from __future__ import annotations

import pytest
from interlock import accelerator, testing

from tests.unit.accelerator.races.planted import CASES, Plan

pytestmark = [pytest.mark.usefixtures("two_devices"), pytest.mark.interlock_races("planted")]


def test_the_catalogue_has_thirty_races() -> None:
    assert len(CASES) >= 30


@pytest.mark.parametrize("name", CASES)
def test_planted_race_is_found(name: str, devices: tuple[str, ...]) -> None:
    case, plan = CASES[name], Plan(False, devices)
    with testing.detect_races() as races:
        case.run(plan)
    assert races
    for race in races:
        assert f"{race.first.access}/{race.second.access}" in case.accesses | {
            f"{second}/{first}" for first, _, second in (each.partition("/") for each in case.accesses)
        }
        assert case.missing in race.missing
        lines = (race.first.line, race.second.line)
        assert any(line is not None and "planted.py:" in line for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_ordered_twin_has_no_race(name: str, devices: tuple[str, ...]) -> None:
    plan = Plan(True, devices)
    with testing.detect_races() as races:
        CASES[name].run(plan)
        accelerator.synchronize()
    assert [str(race) for race in races] == []
