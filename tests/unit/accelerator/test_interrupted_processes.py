"""Processes with streams on several threads that receive signals, fork and exit."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}


@pytest.mark.parametrize("seed", range(4))
def test_streams_in_threads_survive_signals_forks_and_exit(seed: int) -> None:
    # CPython 3.12 and later warn of a fork in a process with threads.
    options = ("-W", "ignore:This process:DeprecationWarning")
    done = run_program("accelerator.exits.interrupted_process", seed, env=HOST, options=options)
    assert (done.code, done.stdout, done.stderr) == (0, "end", "")
