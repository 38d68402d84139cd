"""Without `interlock.aio`, a process warns once if scopes of two tasks of an event loop overlap."""

from __future__ import annotations

import re

import pytest

from tests.helpers.subprocess import eval_program, marked_lines, run_program

PROGRAM = "aio.use_scopes_in_tasks"


@pytest.mark.parametrize(
    "case", ["overlap_of_modes", "overlap_of_flags", "overlap_of_a_mode_and_a_flag", "overlap_twice"]
)
def test_overlapping_scopes_of_two_tasks_are_reported_once(case: str) -> None:
    site = marked_lines("aio.work")["scope"]
    ((category, message, location),) = eval_program(PROGRAM, case, "always")
    assert (category, location) == ("ScopeWarning", site)
    tasks = re.findall(r"Task-\d+", message)
    assert len(set(tasks)) == 2
    assert message == (
        "scopes of two asyncio tasks overlap, so each task also had modes or flags of the other: "
        f"{tasks[0]} exited a scope at {site} while one that {tasks[1]} exits at {site} was open; "
        "give each task its own state with interlock.aio.run, or with "
        "loop.set_task_factory(interlock.aio.task_factory()) before the tasks are created. "
        "This is reported once"
    )


@pytest.mark.parametrize(
    "case",
    [
        "out_of_order_in_one_task",
        "generator_of_one_task",
        "scopes_of_one_object",
        "scope_that_is_never_exited",
        "tasks_with_a_state_of_their_own",
    ],
)
def test_scopes_that_do_not_overlap_those_of_another_task_are_not_reported(case: str) -> None:
    assert eval_program(PROGRAM, case, "always") == []


def test_warning_as_an_error_is_raised_after_the_scope_was_exited() -> None:
    done = run_program(PROGRAM, "overlap_of_modes", "error")
    assert (done.code, done.stdout) == (0, "raised ScopeWarning\n[]\n"), done.stderr
