"""The result of each function in each state of a process, as in the table of docs/accelerator.md."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import fake_cuda
from tests.helpers.subprocess import eval_program

TABLE = (Path(__file__).parent / "contracts.json").read_text()
# The driver whose devices the driver under test does not have.
DRIVERS = {"host": "cuda", "cuda": "host"}
STATES = ("no driver", "no device", "not initialised", "ready")


def contracts(driver: str) -> list[dict[str, Any]]:
    """Return the table for the devices of a driver."""
    rows: list[dict[str, Any]] = json.loads(TABLE.replace("DRIVER", driver).replace("OTHER", DRIVERS[driver]))
    return [row | row.get(driver, {}) for row in rows]


CONTRACTS = [(driver, contract) for driver in DRIVERS for contract in contracts(driver)]


def with_devices(driver: str, count: int) -> dict[str, str]:
    """Return the environment of a process whose driver has `count` devices."""
    if driver == "host":
        return {"INTERLOCK_ACCELERATOR": f"host:{count}"}
    return fake_cuda.environment() | {"FAKE_CUDA_DEVICES": str(count), "INTERLOCK_ACCELERATOR": driver}


@functools.cache
def outcomes(driver: str, state: str, no_driver: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, bool]]:
    """Return the result of each call in its own process, and whether the driver is fixed afterwards."""
    count = {"no device": 0}.get(state, 2)
    variables = dict(no_driver) if state == "no driver" else with_devices(driver, count)
    calls = [contract["call"] for contract in contracts(driver)]
    answers = eval_program(
        "accelerator.streams.call_each_in_a_child",
        env={**variables, "STATE": state, "CALLS": json.dumps(calls)},
    )
    return {call: (reported, fixed) for call, (reported, fixed) in zip(calls, answers, strict=True)}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("used", "contract"), CONTRACTS, ids=[f"{driver} {contract['call']}" for driver, contract in CONTRACTS]
)
def test_call_behaves_as_listed_in_the_table(
    used: str, contract: dict[str, Any], state: str, no_driver: dict[str, str]
) -> None:
    reported, fixed = outcomes(used, state, tuple(no_driver.items()))[contract["call"]]
    assert reported == contract[state]
    if state == "ready":
        assert fixed
    elif state == "not initialised":
        assert fixed == contract["fixes"]
    else:
        assert not fixed, "without a device no driver is fixed"


def test_table_contains_every_function_of_the_namespace() -> None:
    from interlock import accelerator
    from interlock.accelerator import memory

    # Functions that select the driver, accept an object that another call in the table returns, or use no
    # device.
    others = {
        "use",
        "launch",
        "memory",
        "random",
        "DeviceProperties",
        "declare_uses",
        "trace",
    }
    others |= {"AcceleratorError", "NoAcceleratorError"}
    called = " ".join(contract["call"] for contract in contracts("host"))
    assert [name for name in accelerator.__all__ if f"{name}(" not in called and name not in others] == []
    types = {"AllocatorConfig", "ConfigEntry", "ConfigReport", "Recording", "Snapshot"}
    assert [name for name in memory.__all__ if f"{name}(" not in called and name not in types] == []
