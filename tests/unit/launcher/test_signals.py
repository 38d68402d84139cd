"""Ctrl-C and other signals end all processes of a launcher, and then the launcher."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program
from tests.unit.launcher.run_launcher import NEUTRAL

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)

# A grace period that never elapses in a test, and one for which a test can wait.
NEVER, SOON = "1000", "0.1"


def drive(
    folder: Path, function: str, signals: list[tuple[int, int]], *arguments: str, grace: str = NEVER
) -> list[object]:
    """Return the status of the launcher and the reports of its program, a function of `launcher.signals`."""
    timed = [(*signal, 0) for signal in signals]
    return drive_and_listen(folder, function, timed, *arguments, grace=grace)[:2]


def drive_and_listen(
    folder: Path, function: str, signals: list[tuple[int, int, int]], *arguments: str, grace: str = NEVER
) -> list[Any]:
    """Return the status of the launcher, the reports of the program and the log of the launcher."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    answer: list[Any] = eval_program(
        "launcher.signals.drive", grace, str(pipe), signals, function, *arguments, env=NEUTRAL
    )
    return answer


@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGQUIT", 131)]
)
def test_signal_is_forwarded_and_is_the_status_of_the_launcher(name: str, code: int, tmp_path: Path) -> None:
    signals = [(signal.Signals[name].value, 1)]
    assert drive(tmp_path, "end_on", signals, name) == [code, ["ready", name]]


def test_second_interrupt_ends_an_instance_that_ignores_the_first(tmp_path: Path) -> None:
    both = [(int(signal.SIGINT), 1), (int(signal.SIGINT), 1)]
    assert drive(tmp_path, "end_at_the_second", both) == [130, ["ready", "first", "second"]]


def test_running_instances_are_logged_with_the_time_of_the_kill(tmp_path: Path) -> None:
    # The second signal is sent when the launcher has logged that it waits.
    both = [(int(signal.SIGINT), 1, 0), (int(signal.SIGINT), 1, 1)]
    waiting, passed_on = drive_and_listen(tmp_path, "end_at_the_second", both)[2]
    left = r"still running, killed in \d+ s: instance 0"
    assert re.fullmatch(f"run_cpu: waiting for instances to exit; {left}", waiting)
    assert re.fullmatch(f"run_cpu: SIGINT was forwarded; {left}", passed_on)


def test_killed_processes_are_logged(tmp_path: Path) -> None:
    signals = [(int(signal.SIGTERM), 1, 0)]
    reported = drive_and_listen(tmp_path, "ignore", signals, "SIGTERM", "ready", grace=SOON)[2]
    assert reported == [f"run_cpu: killed after {SOON} s: instance 0"]


def test_instance_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    signals = [(int(signal.SIGINT), 1)]
    ended = drive(tmp_path, "ignore", signals, "SIGINT", "ready", grace=SOON)
    assert ended == [130, ["ready"]]


def test_children_of_an_instance_end_with_it(tmp_path: Path) -> None:
    assert drive(tmp_path, "start_another", [(int(signal.SIGTERM), 1)], "pass") == [143, ["below"]]


def test_surviving_children_are_killed_after_the_grace_period(tmp_path: Path) -> None:
    first, signals = "signal.signal(signal.SIGTERM, signal.SIG_IGN)", [(int(signal.SIGTERM), 1)]
    assert drive(tmp_path, "start_another", signals, first, grace=SOON) == [143, ["below"]]


def test_children_in_another_session_are_killed_with_the_instance(tmp_path: Path) -> None:
    signals = [(int(signal.SIGTERM), 1)]
    assert drive(tmp_path, "start_a_session", signals, grace=SOON) == [143, ["below"]]


def test_launcher_killed_by_another_leaves_no_instance(tmp_path: Path) -> None:
    signals, inner = [(int(signal.SIGTERM), 1)], ("ignore", "SIGTERM", "inner")
    assert drive(tmp_path, "launch_another", signals, *inner, grace=SOON) == [143, ["inner"]]


def test_stopped_instance_receives_a_signal(tmp_path: Path) -> None:
    assert drive(tmp_path, "stop", [(int(signal.SIGTERM), 1)]) == [143, ["stopped", "ended"]]


def test_killed_children_are_logged_with_their_parent(tmp_path: Path) -> None:
    reported = [
        "run_cpu: instance 0 exited with 5",
        f"run_cpu: killed after {SOON} s: children of instance 0",
    ]
    assert drive_and_listen(tmp_path, "leave_a_process", [], grace=SOON) == [5, [], reported]
