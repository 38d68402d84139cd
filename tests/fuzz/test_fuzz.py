"""A few seconds of each fuzzer with fixed seeds, and the detection of planted faults."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fuzz.harness import KINDS, ROOT, Totals, run

# The number of actions in a few seconds, and the number of the action with the planted fault.
COUNTS = {"api": 1500, "threads": 4000, "tensors": 600, "endings": 6, "signals": 300}
PLANTED = {"api": 20, "threads": 20, "tensors": 20, "endings": 2, "signals": 20}
# Seconds after which a child with a planted hang counts as hung.
QUIET = 10.0


def fuzzed(name: str, seed: int, count: int, plant: str | None = None) -> tuple[Totals, str]:
    said: list[str] = []
    quiet = QUIET if plant and plant.startswith("hang") and name != "endings" else None
    totals = run(KINDS[name], seed, count, plant=plant, quiet=quiet, say=said.append)
    return totals, "\n".join(said)


@pytest.mark.subprocess
@pytest.mark.parametrize("name", KINDS)
def test_fuzzer_finds_nothing_with_a_fixed_seed(name: str) -> None:
    totals, said = fuzzed(name, 1, COUNTS[name])
    assert totals.failures == [], said
    assert totals.done == COUNTS[name]
    assert totals.line().startswith(f"{name}: {COUNTS[name]:,} ")
    assert "0 crashes, 0 hangs, 0 panics, 0 wrong results" in totals.line()


@pytest.mark.subprocess
@pytest.mark.parametrize("fault", ["crash", "hang", "panic", "wrong"])
@pytest.mark.parametrize(
    "name", ["api", *(pytest.param(name, marks=pytest.mark.slow) for name in KINDS if name != "api")]
)
def test_fuzzer_finds_a_planted_fault_and_prints_its_seed(name: str, fault: str) -> None:
    number = PLANTED[name]
    # All threads of the threads fuzzer share the count.
    count = number * 4 if name == "threads" else number + 1
    totals, said = fuzzed(name, 11, count, f"{fault}:{number}")
    assert [failure.what for failure in totals.failures] == [fault], said
    assert f"in action {number} of seed 11" in said or name == "threads"
    repeated = count if name == "threads" else number
    assert f"python -m tests.fuzz {name} --seed 11 --count {repeated}" in said
    if fault == "hang":
        assert "most recent call first" in said


@pytest.mark.subprocess
def test_fuzz_command_repeats_a_seed_and_fails_with_a_finding() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "api", "--seed", "5", "--count", "60"]
    plain = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert plain.returncode == 0, plain.stdout
    assert "api: 60 calls, 0 crashes" in plain.stdout.splitlines()[-1]
    reports = set()
    for _ in range(2):
        planted = subprocess.run([*command, "--plant", "wrong:50"], cwd=ROOT, capture_output=True, text=True)
        assert planted.returncode == 1
        (report,) = (line for line in planted.stdout.splitlines() if "in action 50 of seed 5" in line)
        reports.add(report)
    assert len(reports) == 1


def test_fuzz_command_refuses_an_unknown_fuzzer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "nothing"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no such fuzzer: nothing; there are api, threads, tensors, endings, signals" in done.stderr
