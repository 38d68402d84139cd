"""What `INTERLOCK_DEBUG=1` tells of scopes that are open, or were left, where nobody expects it."""

from __future__ import annotations

import re

import interlock
import pytest

from tests.helpers.subprocess import PROGRAMS, eval_program, eval_python, run_program

TRACED = {"INTERLOCK_DEBUG": "1"}


def told_by(name: str, *arguments: object) -> list[tuple[str, list[str], str]]:
    """Run a program traced; return each warning: category, marks of the lines it names, mark of its own line.

    A line of the program is marked by a comment at its end.
    """
    marks = {str(number): line.rpartition("# ")[2] for number, line in enumerate(lines_of(name), 1)}
    named = re.compile(rf"{name}\.py:(\d+)")
    return [
        (category, [marks[line] for line in named.findall(message)], marks[own.rpartition(":")[2]])
        for category, message, own in eval_program(f"state/{name}.py", *arguments, env=TRACED)
    ]


def lines_of(name: str) -> list[str]:
    return (PROGRAMS / "state" / f"{name}.py").read_text().splitlines()


def place_of(mark: str, name: str) -> str:
    """Return the file and the number of the line that has this mark."""
    (number,) = (number for number, line in enumerate(lines_of(name), 1) if line.endswith(f"# {mark}"))
    return f"{name}.py:{number}"


@pytest.mark.parametrize(
    "scope",
    [
        "no_grad()",
        "interlock.inference_mode()",
        "interlock.set_grad_enabled(False)",
        "backends.override({'cudnn.enabled': False})",
        "backends.cudnn.flags()",
        "interlock.capture().apply()",
    ],
)
def test_a_scope_open_in_a_suspended_generator_is_told_once_with_both_places(scope: str) -> None:
    consumer = "interlock.is_grad_enabled()"
    told = told_by("trace_a_suspended_generator", scope, consumer)
    assert told == [("ScopeWarning", ["entered", "seen"], "seen")]


@pytest.mark.parametrize(
    "consumer",
    [
        "interlock.is_inference_mode_enabled()",
        "interlock.set_grad_enabled(True)",
        "interlock.capture()",
        "enable_grad().__enter__()",
        "interlock.ones(2) * 2",
        "backends.override({'cudnn.enabled': False}).__enter__()",
    ],
)
def test_whatever_meets_such_a_scope_tells(consumer: str) -> None:
    told = told_by("trace_a_suspended_generator", "no_grad()", consumer)
    assert ("ScopeWarning", ["entered", "seen"], "seen") in told


def test_tasks_that_share_a_state_are_told() -> None:
    told = told_by("trace_tasks_that_share_a_state")
    category, lines, _ = told[0]
    assert (category, lines) == ("ScopeWarning", ["entered", "entered by the other"])


def test_tasks_with_a_state_of_their_own_have_nothing_to_tell() -> None:
    told = told_by("trace_tasks_with_a_state_of_their_own")
    assert told == []


def test_a_leave_out_of_order_is_told_with_what_stays_open() -> None:
    told = told_by("trace_an_exit_out_of_order")
    assert told == [("ScopeWarning", ["entered", "left", "entered later"], "left")]


def test_a_leave_on_another_thread_is_told_with_both_places() -> None:
    told = told_by("trace_an_exit_on_another_thread")
    assert told == [("ScopeWarning", ["entered", "left"], "left")]


def test_a_scope_that_is_open_when_the_process_ends_is_told() -> None:
    name = "trace_scopes_open_at_the_end"
    done = run_program(f"state/{name}.py", env=TRACED)
    assert done.code == 0
    assert done.stderr.count(f"{place_of('entered', name)}: ScopeWarning: ") == 2


def test_scopes_of_threads_and_tasks_that_have_ended_are_open_no_longer_and_told_once_at_the_end() -> None:
    name = "trace_scopes_of_ended_threads_and_tasks"
    done = run_program(f"state/{name}.py", env=TRACED)
    assert (done.code, done.stdout) == (0, "[]\n")
    told = "the scope entered here was still open when its thread or task ended"
    assert done.stderr.count("ScopeWarning: ") == 1
    assert f"{place_of('entered', name)}: ScopeWarning: {told}" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["with_statement", "decorated_generator", "context_manager", "exit_stack", "one_task", "function"],
)
def test_ordinary_programs_have_nothing_to_tell(name: str) -> None:
    assert told_by("trace_ordinary_programs", name) == []


def test_a_warning_that_is_an_error_leaves_the_state_right() -> None:
    seen = eval_program("state/trace_a_warning_that_is_an_error.py", env=TRACED)
    assert seen == [False, True]


def test_without_the_variable_nothing_is_kept() -> None:
    with interlock.no_grad():
        assert interlock.state.open_scopes() == []
    where = eval_python(
        "import interlock\nwith interlock.no_grad():\n    result = interlock.state.open_scopes()", env=TRACED
    )
    assert [each.rpartition("/")[2] for each in where] == ["child_script.py:2"]
