"""A forked child has the flags and modes of the forking thread, and no lock stays held."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program


def test_fork_during_scopes_and_writes_leaves_a_working_child() -> None:
    done = run_program("processes.forks.fork_during_scopes_and_writes_leaves_a_working_child")
    assert (done.code, done.stdout) == (0, "{0} True False\n"), done.stderr


def test_fork_in_a_task_keeps_its_state_and_the_other_tasks() -> None:
    done = run_program("processes.forks.fork_in_a_task_keeps_its_state_and_the_other_tasks")
    assert (done.code, done.stdout) == (0, "0 True False\n"), done.stderr


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("assert backends.cudnn.enabled", "interlock.backends.cudnn"),
        ("import interlock.nn", "interlock.nn.functional"),
    ],
)
def test_fork_during_the_first_use_of_a_module_leaves_a_working_child(statement: str, slow: str) -> None:
    program = "processes.forks.fork_during_the_first_use_of_a_module_leaves_a_working_child"
    done = run_program(program, statement, slow)
    assert (done.code, done.stdout) == (0, "0\n"), done.stderr
