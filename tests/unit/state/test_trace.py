"""Warnings under `INTERLOCK_DEBUG=1` about scopes that are open, or were exited, at unexpected places."""

from __future__ import annotations

import json
import re

import interlock
import pytest

from tests.helpers.subprocess import eval_program, eval_python, marked_lines, run_program

TRACED = {"INTERLOCK_DEBUG": "1"}
LINE = re.compile(r"\S+/trace\.py:\d+")


def warnings_of(name: str, *arguments: object) -> list[tuple[str, list[str], str]]:
    """Run a program traced; return each warning: category, marks of the lines it names, mark of its own line.

    A line of the program is marked by a comment at its end.
    """
    program = f"state.trace.{name}"
    marks = {place: mark for mark, place in marked_lines(program).items()}
    return [
        (category, [marks[place] for place in LINE.findall(message)], marks[own])
        for category, message, own in eval_program(program, *arguments, env=TRACED)
    ]


def place_of(mark: str, name: str) -> str:
    """Return the file and line number of the line with this mark."""
    return marked_lines(f"state.trace.{name}")[mark]


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
def test_scope_open_in_a_suspended_generator_warns_once_with_its_line(scope: str) -> None:
    consumer = "interlock.is_grad_enabled()"
    reported = warnings_of("a_suspended_generator", scope, consumer)
    assert reported == [("ScopeWarning", ["entered"], "seen")]


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
def test_any_use_inside_a_suspended_scope_warns(consumer: str) -> None:
    reported = warnings_of("a_suspended_generator", "no_grad()", consumer)
    assert ("ScopeWarning", ["entered"], "seen") in reported


def test_tasks_with_their_own_state_do_not_warn() -> None:
    reported = warnings_of("tasks_with_a_state_of_their_own")
    assert reported == []


def test_exit_out_of_order_warns_with_the_scopes_that_stay_open() -> None:
    reported = warnings_of("an_exit_out_of_order")
    assert reported == [("ScopeWarning", ["entered", "entered later"], "left")]


def test_exit_on_another_thread_warns_with_the_line_of_the_enter() -> None:
    reported = warnings_of("an_exit_on_another_thread")
    assert reported == [("ScopeWarning", ["entered"], "left")]


def test_exits_on_the_line_of_the_enter_name_the_line_once() -> None:
    name = "exits_on_the_line_of_the_enter"
    found = eval_program(f"state.trace.{name}", env=TRACED)
    assert [(message, place) for _, message, place in found] == [
        (
            "the scope of no_grad entered on this line is exited here in another context or thread; it ends "
            "wherever it is open",
            place_of("both", name),
        ),
        (
            "the scope of no_grad entered on this line is exited here, before that of enable_grad entered "
            "later on this line, which stays open",
            place_of("all", name),
        ),
        (
            "the scope of enable_grad is exited here and is not open: it was not entered, or was exited "
            "before; the exit has no effect",
            place_of("again", name),
        ),
    ]


def test_warnings_name_the_scope() -> None:
    name, end = "state.trace.names_of_scopes", " entered here was still open at the end of its scope_barrier"
    names = [text.removeprefix("the scope of ").removesuffix(end) for text in eval_program(name, env=TRACED)]
    assert names == [
        "no_grad",
        "set_grad_enabled",
        "cudnn.enabled",
        "cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit and 5 more flags",
        "ThreadState.apply",
        "device",
        "accelerator.device_index",
        "Stream",
        "dispatch.record",
    ]


def test_exit_of_a_scope_that_is_not_open_warns() -> None:
    begin = "the scope of "
    end = " is exited here and is not open: it was not entered, or was exited before; the exit has no effect"
    found = eval_program("state.trace.exits_without_an_enter", env=TRACED)
    assert found.pop().endswith("was still open at the end of its scope_barrier")
    names = [text.removeprefix(begin).removesuffix(end) for text in found]
    scopes = [
        "no_grad",
        "inference_mode",
        "set_grad_enabled",
        "cudnn.enabled",
        "frozen",
        "ThreadState.apply",
        "device",
        "accelerator.device_index",
        "Stream",
        "dispatch.record",
        "accelerator.use_mem_pool",
        "MemoryTracker",
        "scope_barrier",
        "detect_anomaly",
        "set_detect_anomaly",
    ]
    assert names == ["verbose", *scopes, *scopes]
    assert eval_program("state.trace.exits_without_an_enter") == []


def test_warning_of_a_line_is_shown_once_and_counted_at_the_end() -> None:
    name = "warnings_of_a_loop"
    done = run_program(f"state.trace.{name}", env=TRACED)
    assert done.code == 0
    shown = [line for line in done.stderr.splitlines() if "ScopeWarning: " in line]
    assert [line.partition(": ")[0] for line in shown] == [
        place_of(mark, name) for mark in ("exited", "left", "of a thread", "open")
    ]
    assert shown[2].endswith("was still open when its thread or context ended (3 times)")
    assert shown[3].endswith("was still open when the process ended (3 times)")
    always = run_program(f"state.trace.{name}", env=TRACED | {"PYTHONWARNINGS": "always"})
    assert always.stderr.count("is not open") == 3


def test_scope_open_at_process_exit_warns() -> None:
    name = "scopes_open_at_the_end"
    done = run_program(f"state.trace.{name}", env=TRACED)
    assert done.code == 0
    assert done.stderr.count(f"{place_of('entered', name)}: ScopeWarning: ") == 2


def test_exit_of_a_scope_at_the_end_of_the_process_does_not_warn() -> None:
    done = run_program("state.trace.suspended_scopes_that_the_end_of_the_process_exits", env=TRACED)
    assert (done.code, "Exception ignored" in done.stderr) == (0, False), done.stderr


def test_scopes_of_an_ended_context_are_not_open() -> None:
    name = "scopes_of_an_ended_context"
    done = run_program(f"state.trace.{name}", env=TRACED)
    entered = place_of("entered", name)
    assert json.loads(done.stdout.splitlines()[-1]) == [[entered], [], []]
    assert done.stderr.count("ScopeWarning: ") == 1
    reported = "the scope of no_grad entered here was still open when its thread or context ended"
    assert f"{entered}: ScopeWarning: {reported}" in done.stderr


def test_scopes_of_ended_threads_and_tasks_warn_once_at_exit() -> None:
    name = "scopes_of_ended_threads_and_tasks"
    done = run_program(f"state.trace.{name}", env=TRACED)
    assert (done.code, done.stdout) == (0, "[]\n")
    reported = "the scope of no_grad entered here was still open when its thread or context ended"
    assert done.stderr.count("ScopeWarning: ") == 1
    assert f"{place_of('entered', name)}: ScopeWarning: {reported}" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["with_statement", "decorated_generator", "context_manager", "exit_stack", "one_task", "function"],
)
def test_ordinary_programs_do_not_warn(name: str) -> None:
    assert warnings_of("ordinary_program", name) == []


def test_warning_raised_as_an_error_keeps_the_state_consistent() -> None:
    seen = eval_program("state.trace.a_warning_that_is_an_error", env=TRACED)
    assert seen == [False, True]


def test_no_positions_are_recorded_without_the_variable() -> None:
    with (
        interlock.no_grad(),
        pytest.raises(interlock.errors.NotTracedError, match=r"^open_scopes: .*_DEBUG=1$"),
    ):
        interlock.state.open_scopes()
    where = eval_python(
        "import interlock\nwith interlock.no_grad():\n    result = interlock.state.open_scopes()", env=TRACED
    )
    assert [each.rpartition("/")[2] for each in where] == ["child_script.py:2"]
