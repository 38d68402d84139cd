"""Every public name of PyTorch's three namespaces exists and has the kind and signature of PyTorch's.

`names.json` was recorded from PyTorch by `record.py`. `not_implemented.json` lists names that interlock does
not have yet, or not with that signature; it only gets shorter. `intentional_differences.json` lists those
where interlock differs on purpose: `name`, `want` (the facts to expect instead) and `reason`.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.api.compare import Facts, mismatch
from tests.helpers.subprocess import run_command

HERE = Path(__file__).parent


def load(name: str) -> Any:
    return json.loads((HERE / name).read_text())


RECORDED: dict[str, Facts] = load("names.json")["names"]
NOT_IMPLEMENTED: list[str] = load("not_implemented.json")
DIFFERENCES: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in load("intentional_differences.json")
}


@functools.cache
def found() -> dict[str, Facts]:
    """The names of interlock, read in a child process in which no flag is assigned."""
    done = run_command([sys.executable, "-P", str(HERE / "record.py"), "interlock", str(HERE / "names.json")])
    assert done.code == 0, done.stderr
    names: dict[str, Facts] = json.loads(done.stdout)["names"]
    return names


@pytest.mark.parametrize("name", RECORDED)
def test_name_of_interlock_matches_pytorch(name: str) -> None:
    want: Facts = DIFFERENCES[name]["want"] if name in DIFFERENCES else RECORDED[name]
    different = mismatch(want, found()[name])
    if name in NOT_IMPLEMENTED:
        assert different is not None, "it passes now: remove it from not_implemented.json"
    else:
        assert different is None, different


def test_not_implemented_lists_known_names_once() -> None:
    assert set(NOT_IMPLEMENTED) <= set(RECORDED)
    assert len(NOT_IMPLEMENTED) == len(set(NOT_IMPLEMENTED))


@pytest.mark.parametrize("name", DIFFERENCES)
def test_intentional_difference_exists_and_has_a_reason(name: str) -> None:
    entry = DIFFERENCES[name]
    assert entry.keys() == {"name", "want", "reason"}
    assert entry["reason"]
    assert mismatch(RECORDED[name], entry["want"]) is not None


def test_intentional_differences_are_unique() -> None:
    assert len(DIFFERENCES) == len(load("intentional_differences.json"))
