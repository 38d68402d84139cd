"""What each function answers in each state of a process: the table in docs/accelerator.md."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import fake_cuda
from tests.helpers.subprocess import eval_python

TABLE = (Path(__file__).parent / "contracts.json").read_text()
# A device that the driver does not have is of the other.
DRIVERS = {"host": "cuda", "cuda": "host"}
STATES = ("no driver", "no device", "not initialised", "ready")


def contracts(driver: str) -> list[dict[str, Any]]:
    """The table for the devices of a driver."""
    rows: list[dict[str, Any]] = json.loads(TABLE.replace("DRIVER", driver).replace("OTHER", DRIVERS[driver]))
    return [row | row.get(driver, {}) for row in rows]


CONTRACTS = [(driver, contract) for driver in DRIVERS for contract in contracts(driver)]

ASK_EACH = """
    import json, os, sys, warnings
    from collections import OrderedDict

    import interlock
    from interlock import accelerator, errors
    from interlock.accelerator import DeviceProperties, Graph
    from interlock.accelerator.memory import Buffer

    warnings.simplefilter("ignore", FutureWarning)

    def shown(result):
        if isinstance(result, interlock.Stream):
            kind = "the default" if result.stream_id == 0 else "a"
            return f"{kind} stream of {result.device}"
        if isinstance(result, interlock.Event):
            return f"an event of {result.device}"
        if isinstance(result, Buffer):
            return f"{result.nbytes} bytes on {result.device}"
        if isinstance(result, (DeviceProperties, Graph)):
            return type(result).__name__
        if isinstance(result, OrderedDict):
            return f"{len(result)} numbers"
        if isinstance(result, dict):
            return "a dict"
        if isinstance(result, tuple) and result[1] > 1000:
            return "(free, total)"
        if isinstance(result, str):
            return "a sentence" if result.count(" ") > 2 else "a name"
        return str(result)

    def outcome(call):
        try:
            return shown(eval(call))
        except Exception as error:
            return type(error).__name__

    def fixed():
        try:
            accelerator.use("host", devices=2)
        except errors.DriverInUseError:
            return True
        return False

    answer = []
    for call in json.loads(sys.stdin.read() or os.environ["CALLS"]):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            if os.environ["STATE"] == "ready":
                interlock.Stream(1).synchronize()
                accelerator.set_device_index(1)
            told = [outcome(call), fixed()]
            os.write(writing, json.dumps(told).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            answer.append(json.loads(pipe.read()))
        os.waitpid(process, 0)
"""


def with_devices(driver: str, count: int) -> dict[str, str]:
    """The environment of a process whose driver has so many devices."""
    if driver == "host":
        return {"INTERLOCK_ACCELERATOR": f"host:{count}"}
    return fake_cuda.environment() | {"FAKE_CUDA_DEVICES": str(count), "INTERLOCK_ACCELERATOR": driver}


@functools.cache
def outcomes(driver: str, state: str, no_driver: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, bool]]:
    """What each call answers, and whether the driver is fixed afterwards; a process for each."""
    count = {"no device": 0}.get(state, 2)
    variables = dict(no_driver) if state == "no driver" else with_devices(driver, count)
    calls = [contract["call"] for contract in contracts(driver)]
    answers = eval_python(ASK_EACH, env={**variables, "STATE": state, "CALLS": json.dumps(calls)})
    return {call: (told, fixed) for call, (told, fixed) in zip(calls, answers, strict=True)}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("used", "contract"), CONTRACTS, ids=[f"{driver} {contract['call']}" for driver, contract in CONTRACTS]
)
def test_a_call_answers_as_the_table_says(
    used: str, contract: dict[str, Any], state: str, no_driver: dict[str, str]
) -> None:
    told, fixed = outcomes(used, state, tuple(no_driver.items()))[contract["call"]]
    assert told == contract[state]
    if state == "ready":
        assert fixed
    elif state == "not initialised":
        assert fixed == contract["fixes"]
    else:
        assert not fixed, "without a device there is nothing to be fixed"


def test_the_table_has_every_function_of_the_namespace() -> None:
    from interlock import accelerator
    from interlock.accelerator import memory

    # What changes the choice itself, or takes an object that comes from another call in the table.
    others = {"use", "launch", "memory", "DeviceProperties"}
    others |= {"AcceleratorError", "NoAcceleratorError"}
    called = " ".join(contract["call"] for contract in contracts("host"))
    assert [name for name in accelerator.__all__ if f"{name}(" not in called and name not in others] == []
    types = {"AllocatorConfig", "ConfigEntry", "ConfigReport", "Recording", "Snapshot"}
    assert [name for name in memory.__all__ if f"{name}(" not in called and name not in types] == []
