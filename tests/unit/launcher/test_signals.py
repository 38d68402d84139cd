"""Ctrl-C and other signals end all that a launcher started, and then the launcher."""

from __future__ import annotations

import os
import re
import signal
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program
from tests.unit.launcher.run_launcher import NEUTRAL

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)

SAY = """
import os, signal, subprocess, sys
pipe = os.open(sys.argv[1], os.O_WRONLY)
def say(text):
    os.write(pipe, text.encode() + b"\\n")
"""
# Long enough never to pass in a test, and so short that a test may wait for it.
NEVER, SOON = "1000", "0.1"


def drive(folder: Path, program: str, signals: list[tuple[int, int]], grace: str = NEVER) -> list[object]:
    """How the launcher ended, and what the program said."""
    return drive_and_listen(folder, program, [(*signal, 0) for signal in signals], grace)[:2]


def drive_and_listen(
    folder: Path, program: str, signals: list[tuple[int, int, int]], grace: str = NEVER
) -> list[Any]:
    """How the launcher ended, and what the program and the launcher said."""
    path, pipe = folder / "program.py", folder / "pipe"
    path.write_text(SAY + textwrap.dedent(program))
    os.mkfifo(pipe)
    answer: list[Any] = eval_program(
        "launcher/signals_drive.py", grace, str(path), str(pipe), signals, env=NEUTRAL
    )
    return answer


@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGQUIT", 131)]
)
def test_a_signal_is_passed_on_and_is_how_the_launcher_ends(name: str, code: int, tmp_path: Path) -> None:
    program = f"""
        def end(number, frame):
            say(signal.Signals(number).name)
            sys.exit(0)
        signal.signal(signal.{name}, end)
        say("ready")
        while True:
            signal.pause()
    """
    assert drive(tmp_path, program, [(signal.Signals[name].value, 1)]) == [code, ["ready", name]]


ENDS_AT_THE_SECOND = """
    def end(number, frame):
        say("second")
        sys.exit(3)
    def ignore(number, frame):
        signal.signal(signal.SIGINT, end)
        say("first")
    signal.signal(signal.SIGINT, ignore)
    say("ready")
    while True:
        signal.pause()
"""


def test_an_instance_that_ignores_ctrl_c_once_ends_at_the_second(tmp_path: Path) -> None:
    both = [(int(signal.SIGINT), 1), (int(signal.SIGINT), 1)]
    assert drive(tmp_path, ENDS_AT_THE_SECOND, both) == [130, ["ready", "first", "second"]]


def test_people_are_told_of_what_does_not_end_and_when_it_is_killed(tmp_path: Path) -> None:
    # The second signal is sent when the launcher has told that it waits.
    both = [(int(signal.SIGINT), 1, 0), (int(signal.SIGINT), 1, 1)]
    waiting, passed_on = drive_and_listen(tmp_path, ENDS_AT_THE_SECOND, both)[2]
    left = r"still running, killed in \d+ s: instance 0"
    assert re.fullmatch(f"run_cpu: waiting for instances to exit; {left}", waiting)
    assert re.fullmatch(f"run_cpu: SIGINT was forwarded; {left}", passed_on)


def test_people_are_told_of_what_is_killed(tmp_path: Path) -> None:
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsay('ready')\nwhile True: signal.pause()"
    told = drive_and_listen(tmp_path, program, [(int(signal.SIGTERM), 1, 0)], SOON)[2]
    assert told == [f"run_cpu: killed after {SOON} s: instance 0"]


def test_an_instance_that_never_ends_is_killed_after_the_time_of_grace(tmp_path: Path) -> None:
    program = """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say("ready")
        while True:
            signal.pause()
    """
    assert drive(tmp_path, program, [(int(signal.SIGINT), 1)], SOON) == [130, ["ready"]]


# Says that it is there, from a process that an instance has started.
BELOW = """
    code = "import os, signal, sys; {first}; os.write(int(sys.argv[1]), b'below\\\\n'); signal.pause()"
    subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe])
    signal.pause()
"""


def test_what_an_instance_has_started_ends_with_it(tmp_path: Path) -> None:
    program = BELOW.format(first="pass")
    assert drive(tmp_path, program, [(int(signal.SIGTERM), 1)]) == [143, ["below"]]


def test_what_outlives_an_instance_is_killed_after_the_time_of_grace(tmp_path: Path) -> None:
    program = BELOW.format(first="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert drive(tmp_path, program, [(int(signal.SIGTERM), 1)], SOON) == [143, ["below"]]


def test_what_an_instance_has_started_in_a_session_of_its_own_is_killed_with_it(tmp_path: Path) -> None:
    program = """
        code = "import os, signal, sys; os.write(int(sys.argv[1]), b'below\\\\n'); signal.pause()"
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe], start_new_session=True)
        while True:
            signal.pause()
    """
    assert drive(tmp_path, program, [(int(signal.SIGTERM), 1)], SOON) == [143, ["below"]]


def test_a_launcher_that_is_killed_by_another_leaves_no_instance(tmp_path: Path) -> None:
    inner = tmp_path / "inner.py"
    inner.write_text(
        SAY + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsay('inner')\nwhile True: signal.pause()"
    )
    program = f"""
        from interlock.backends.xeon import run_cpu
        sys.exit(run_cpu.main(["--ninstances", "1", {str(inner)!r}, sys.argv[1]]))
    """
    assert drive(tmp_path, program, [(int(signal.SIGTERM), 1)], SOON) == [143, ["inner"]]


def test_an_instance_that_is_stopped_takes_note_of_a_signal(tmp_path: Path) -> None:
    # A terminal stops what reads from it in the background. Another process tells when that has come about.
    program = """
        def end(number, frame):
            say("ended")
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[0] != "T":
                os.sched_yield()
            say("stopped")
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            signal.pause()
    """
    assert drive(tmp_path, program, [(int(signal.SIGTERM), 1)]) == [143, ["stopped", "ended"]]


def test_people_are_told_whose_child_is_killed(tmp_path: Path) -> None:
    program = """
        code = "from signal import *; signal(SIGTERM, SIG_IGN); print(1, flush=True); pause()"
        below = subprocess.Popen([sys.executable, "-c", code], pass_fds=[pipe], stdout=subprocess.PIPE)
        below.stdout.readline()
        os._exit(5)
    """
    told = [
        "run_cpu: instance 0 exited with 5",
        f"run_cpu: killed after {SOON} s: children of instance 0",
    ]
    assert drive_and_listen(tmp_path, program, [], SOON) == [5, [], told]
