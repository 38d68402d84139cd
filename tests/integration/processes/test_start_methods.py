"""The flags of worker processes by start method, and `install` with the parent's flags."""

from __future__ import annotations

import json
import multiprocessing
import re
from typing import Any

import pytest

from tests.helpers.subprocess import run_program

# Deterministic, precision of convolutions, cudnn, benchmark (from the environment); gradients; freeze.
HELD = [True, "ieee", True, True, True, False]
DEFAULTS = [False, "tf32", True, True, True, False]
SEEN: dict[str, dict[str, list[object]]] = {
    "fork": {
        "untouched": HELD,
        "installed": HELD,
        "started in scopes": [False, "tf32", False, False, False, False],
        "started while frozen": [*HELD[:-1], True],
    },
    "spawn": {
        "untouched": DEFAULTS,
        "installed": HELD,
        "started in scopes": HELD,
        "started while frozen": HELD,
    },
}
SEEN["forkserver"] = SEEN["spawn"]


@pytest.mark.parametrize("method", SEEN)
def test_workers_have_the_flags_documented_for_their_start_method(method: str) -> None:
    assert method in multiprocessing.get_all_start_methods()
    done = run_program(
        "processes.start_methods.flags_of_workers",
        method,
        env={"INTERLOCK_CUDNN_BENCHMARK": "1"},
        options=["-W", "error"],
    )
    assert (done.code, done.stderr) == (0, "")
    answer: dict[str, list[Any]] = json.loads(done.stdout)
    assert answer == {when: [seen, seen] for when, seen in SEEN[method].items()}


def test_frozen_forked_worker_refuses_other_flags_with_a_reason() -> None:
    done = run_program("processes.forks.frozen_worker_refuses_other_flags")
    assert (done.code, done.stdout) == (0, "broken\n")
    assert re.search(r"FlagsFrozenError: .* frozen at .*/processes/forks\.py:\d+", done.stderr)
