"""Scopes of tasks that share the state of their thread: one warning per process, with the cure."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program

CURE = "with interlock.aio.run(main()), or with loop.set_task_factory(interlock.aio.task_factory())"

WARNED = {
    "modes of two tasks": "two_tasks(interlock.no_grad, interlock.no_grad)",
    "flags of two tasks": "two_tasks(flags, flags)",
    "a flag and a mode": "two_tasks(flags, interlock.enable_grad)",
}
SILENT = {
    "tasks with a state of their own": "aio.run(two_tasks(interlock.no_grad, flags))",
    "a loop with the task factory": "with_factory(two_tasks(interlock.no_grad, flags))",
    "scopes of one task": "one_task()",
    "scopes that are nested": "nested_tasks()",
    "a program without a loop": "no_loop()",
    "scopes of two threads": "two_threads()",
}


@pytest.mark.parametrize("call", WARNED.values(), ids=WARNED.keys())
def test_interleaved_scopes_of_two_tasks_warn_once(call: str) -> None:
    done = run_program("aio/interleaved_scopes_warn_once.py", f"asyncio.run({call})")
    assert done.code == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "ScopeWarning" in line]
    assert "interleaved_scopes_warn_once.py:" in warning
    assert "scopes of asyncio tasks of one event loop interleave" in warning
    assert warning.endswith(CURE)
    assert done.stdout == "True False\n"


@pytest.mark.parametrize("call", SILENT.values(), ids=SILENT.keys())
def test_other_scopes_do_not_warn(call: str) -> None:
    done = run_program("aio/interleaved_scopes_warn_once.py", call)
    assert (done.code, done.stderr, done.stdout) == (0, "", "True False\n")


def test_warning_can_be_an_error_that_leaves_the_state_right() -> None:
    call = "asyncio.run(two_tasks(interlock.no_grad, interlock.no_grad))"
    done = run_program("aio/interleaved_scopes_warn_once.py", call, options=["-W", "error"])
    assert done.code == 1
    assert "interlock.errors.ScopeWarning: scopes of asyncio tasks" in done.stderr
    assert done.stdout == "True False\n"
