"""The cases recorded from PyTorch have the same outcome in interlock.

`not_implemented.json` lists the cases whose names interlock does not have yet; it only gets shorter.
`intentional_differences.json` lists the cases where interlock differs on purpose: `id`, `row` (what
differs), `want` (the outcomes to expect instead) and `reason`.
`newer_outcomes.json` has the outcomes (`want`) of cases whose behaviour PyTorch has changed since they were
recorded, with its version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conform import same
from tests.helpers.subprocess import run_command

HERE = Path(__file__).parent
FILES = (
    "precision.json",
    "modes.json",
    "accelerator.json",
    "flags.json",
    "function.json",
    "halves.json",
    "attention.json",
    "einsum.json",
    "order.json",
    "layers.json",
    "linalg.json",
    "gradients.json",
    "ops.json",
    "tensors.json",
    "versions.json",
    "v215.json",
)
SECONDS = 300.0


def load(name: str) -> Any:
    return json.loads((HERE / name).read_text())


CASES_OF: dict[str, list[dict[str, Any]]] = {name: load(name) for name in FILES}
CASES: dict[str, dict[str, Any]] = {case["id"]: case for cases in CASES_OF.values() for case in cases}
NOT_IMPLEMENTED: list[str] = load("not_implemented.json")
DIFFERENCES: dict[str, dict[str, Any]] = {
    entry["id"]: entry for entry in load("intentional_differences.json")
}


NEWER: dict[str, list[dict[str, Any]]] = {entry["id"]: entry["want"] for entry in load("newer_outcomes.json")}


def outcomes(file: str) -> dict[str, list[dict[str, Any]]]:
    """The outcomes of every case of a file, from one process that forks a child per case."""
    driver = [sys.executable, "-P", str(HERE / "driver.py"), "interlock", str(HERE / file)]
    done = run_command(driver, seconds=SECONDS)
    assert done.code == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["id"]: line["outcomes"] for line in lines}


def first_mismatch(case: dict[str, Any], want: list[dict[str, Any]], got: list[dict[str, Any]]) -> str | None:
    """Return the first step with a wrong outcome, or None."""
    for number, (step, wanted) in enumerate(zip(case["steps"], want, strict=True)):
        outcome = got[number] if number < len(got) else {"error": ["Missing"]}
        if not same(outcome, wanted):
            return f"step {number}: {step}\n  want {wanted}\n  got  {outcome}"
    return None


def problem(case: dict[str, Any], got: list[dict[str, Any]]) -> str | None:
    """Return what is wrong about the outcomes of a case, or None."""
    name = case["id"]
    recorded = case.get("want", case["outcomes"])
    if name in NEWER:
        assert NEWER[name] != recorded
        recorded = NEWER[name]
    mismatch = first_mismatch(case, recorded, got)
    if name in NOT_IMPLEMENTED:
        return None if mismatch is not None else "it passes now: remove it from not_implemented.json"
    if name not in DIFFERENCES:
        return mismatch
    if mismatch is None:
        return "it passes as recorded: remove it from intentional_differences.json"
    return first_mismatch(case, DIFFERENCES[name]["want"], got)


# A test for each file: thousands of tests would take as long as their cases.
@pytest.mark.parametrize("file", FILES)
def test_recorded_cases(file: str) -> None:
    got = outcomes(file)
    assert got.keys() == {case["id"] for case in CASES_OF[file]}
    problems = {case["id"]: problem(case, got[case["id"]]) for case in CASES_OF[file]}
    wrong = [f"{name}: {text}" for name, text in problems.items() if text is not None]
    assert not wrong, "\n".join(wrong)


def test_every_case_has_its_own_id() -> None:
    assert len(CASES) == sum(map(len, CASES_OF.values()))


def test_not_implemented_names_recorded_cases_once() -> None:
    assert set(NOT_IMPLEMENTED) <= set(CASES)
    assert len(NOT_IMPLEMENTED) == len(set(NOT_IMPLEMENTED))


def test_newer_outcomes_name_cases_with_the_version_that_has_changed_them() -> None:
    entries = load("newer_outcomes.json")
    assert set(NEWER) <= set(CASES)
    assert len(NEWER) == len(entries)
    assert all(entry.keys() == {"id", "version", "want"} for entry in entries)
    assert all(len(want) == len(CASES[name]["steps"]) for name, want in NEWER.items())


def test_intentional_differences_name_cases_with_row_and_reason() -> None:
    assert set(DIFFERENCES) <= set(CASES)
    assert not set(DIFFERENCES) & set(NOT_IMPLEMENTED)
    assert len(DIFFERENCES) == len(load("intentional_differences.json"))
    for entry in DIFFERENCES.values():
        assert entry.keys() == {"id", "row", "want", "reason"}
        assert entry["row"]
        assert entry["reason"]
        assert len(entry["want"]) == len(CASES[entry["id"]]["steps"])
