"""A forked child finds flags and modes as its thread had them, and no lock that nobody will release."""

from __future__ import annotations

from tests.helpers.subprocess import run_program


def test_a_child_forked_in_the_middle_of_scopes_and_writes_goes_on() -> None:
    done = run_program("processes/a_child_forked_in_the_middle_of_scopes_and_writes_goes_on.py")
    assert (done.code, done.stdout) == (0, "{0} True False\n"), done.stderr


def test_a_child_forked_by_a_task_has_the_state_of_that_task_and_goes_on_with_the_others() -> None:
    done = run_program("processes/a_child_forked_by_a_task_has_the_state_of_that_task_and_goes.py")
    assert (done.code, done.stdout) == (0, "0 True False\n"), done.stderr
