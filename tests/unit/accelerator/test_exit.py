"""Processes that exit with live streams, events and pending copies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.subprocess import eval_python, run_program, run_python
from tests.unit.accelerator.exit_scenarios import EXITS, check

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}


@pytest.mark.product
@pytest.mark.parametrize("leave", EXITS)
@pytest.mark.parametrize("group", range(5))
def test_exit_during_queued_work_keeps_the_exit_status(leave: str, group: int) -> None:
    check(
        "accelerator.exits.exit_during_queued_work_on_host",
        leave,
        group,
        env=HOST,
        handlers="registered after\nregistered before\n",
    )


def test_thread_in_synchronize_does_not_abort_the_process() -> None:
    done = run_program("accelerator.exits.thread_in_synchronize_does_not_abort_the_process", env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")


def test_exit_handler_can_wait_for_queued_work() -> None:
    done = run_program("accelerator.exits.exit_handler_can_wait_for_queued_work", env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "[0, 1]\n", "")


def test_function_waiting_for_a_stream_is_woken_before_finalization() -> None:
    done = run_program(
        "accelerator.exits.function_waiting_for_a_stream_is_woken_before_finalization", env=HOST
    )
    assert (done.code, done.stdout, done.stderr) == (0, "gone\n", "")


@pytest.mark.parametrize("handler", ["a lock of logging", "a join"])
def test_earlier_exit_handlers_are_not_delayed(handler: str) -> None:
    done = run_program(
        "accelerator.exits.earlier_exit_handlers_are_not_delayed",
        handler,
        env=HOST,
        seconds=30,
    )
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")


def test_calling_exit_handlers_directly_shuts_nothing_down() -> None:
    done = run_program("accelerator.exits.call_the_exit_handlers_directly", env=HOST, seconds=30)
    assert (done.code, done.stdout, done.stderr) == (0, "[2, 1]\n", "")


def test_exception_that_ends_the_program_is_shown_alone() -> None:
    code = """
        import interlock, threading
        from interlock import accelerator
        accelerator.launch(interlock.Stream(), threading.Event().wait)
        raise SystemExit("for a reason")
    """
    done = run_python(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (1, "", "for a reason\n")


def test_import_starts_no_thread() -> None:
    code = """
        import threading
        import interlock
        result: object = threading.active_count()
    """
    answer: Any = eval_python(code, env=HOST)
    assert answer == 1


REFUSED = "accelerator.launch: a Python function cannot be queued while the interpreter is finalized"
STOPPED = "the interpreter is about to end"
BUSY_STREAM = "accelerator.launch(stream, never.wait)"
BUSY_AT_EXIT = "atexit.register(lambda: accelerator.launch(stream, never.wait))"
HANDLERS_ON_A_THREAD = (
    "thread = threading.Thread(target=atexit._run_exitfuncs); thread.start(); thread.join()"
)


@pytest.mark.parametrize("setup", ["", BUSY_STREAM, HANDLERS_ON_A_THREAD, "atexit._clear()"])
def test_launch_while_the_interpreter_is_finalized_is_a_runtime_error(setup: str) -> None:
    action = "accelerator.launch(self.state[0], len, 'x')"
    done = run_program(
        "accelerator.exits.call_in_a_late_finalizer", False, action, setup, env=HOST, seconds=20
    )
    assert (done.code, done.stdout, done.stderr) == (0, "end", REFUSED)


@pytest.mark.parametrize(
    ("action", "ending"),
    [
        ("self.state[0].synchronize()", STOPPED),
        ("accelerator.synchronize()", STOPPED),
        ("self.state[1].record(self.state[0]); self.state[1].synchronize()", STOPPED),
        ("memory.copy_(self.state[2], bytes(64), stream=self.state[0])", STOPPED),
        ("self.state[3].__enter__(); self.state[4].replay(); self.state[3].synchronize()", STOPPED),
        ("memory.copy_(bytearray(64), self.state[2], stream=self.state[3])", "done"),
        ("memory.fill_(memory.Buffer(64), 1); accelerator.empty_cache()", "done"),
        ("self.state[2].close(self.state[0]); accelerator.empty_cache()", "done"),
    ],
)
@pytest.mark.parametrize("setup", [BUSY_STREAM, "atexit._clear(); " + BUSY_STREAM])
def test_waits_end_while_the_interpreter_is_finalized(setup: str, action: str, ending: str) -> None:
    done = run_program(
        "accelerator.exits.call_in_a_late_finalizer", False, action, setup, env=HOST, seconds=20
    )
    assert (done.code, done.stdout) == (0, "end")
    assert done.stderr.endswith(ending)


def test_synchronize_ends_while_a_function_of_a_late_exit_handler_runs() -> None:
    # The handler runs after the one that drops the functions, which the import registers.
    done = run_program(
        "accelerator.exits.call_in_a_late_finalizer",
        True,
        "self.state[0].synchronize()",
        "",
        env=HOST,
        seconds=20,
    )
    assert (done.code, done.stdout) == (0, "end")
    assert done.stderr == "done" or done.stderr.endswith(STOPPED)


def test_waits_after_exit_handlers_on_another_thread_end() -> None:
    done = run_program(
        "accelerator.exits.call_in_a_late_finalizer",
        False,
        "accelerator.synchronize()",
        HANDLERS_ON_A_THREAD,
        env=HOST,
        seconds=20,
    )
    assert (done.code, done.stdout, done.stderr) == (0, "end", "done")
