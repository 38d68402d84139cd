"""Ctrl-C and other signals end all that a launcher started, and then the launcher."""

from __future__ import annotations

import os
import signal
import textwrap
from pathlib import Path

import pytest

from tests import child
from tests.backends.xeon.test_launch import NEUTRAL

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)

# Starts a launcher and sends it signals, each after so many lines that its program said into a named pipe.
# The pipe ends with the last process that holds it: after that nobody is left.
DRIVE = """
    import subprocess, sys
    code = '''
    import sys
    from interlock.backends.xeon import run_cpu
    sys.exit(run_cpu.main(["--ninstances", "1", *sys.argv[2:]], grace=float(sys.argv[1])))
    '''
    launcher = subprocess.Popen(
        [sys.executable, "-P", "-c", __import__("textwrap").dedent(code), {grace!r}, {program!r}, {pipe!r}],
        start_new_session=True, stderr=subprocess.DEVNULL,
    )
    lines = []
    with open({pipe!r}) as said:
        for number, count in {signals!r}:
            lines += [said.readline().strip() for _ in range(count)]
            launcher.send_signal(number)
        lines += said.read().split()
    answer = [launcher.wait(), lines]
"""
SAY = """
import os, signal, subprocess, sys
pipe = os.open(sys.argv[1], os.O_WRONLY)
def say(text):
    os.write(pipe, text.encode() + b"\\n")
"""
# Long enough never to pass in a test, and so short that a test may wait for it.
NEVER, SOON = "1000", "0.1"


def drive(folder: Path, program: str, signals: list[tuple[int, int]], grace: str = NEVER) -> list[object]:
    """How the launcher ended, and what was said."""
    path, pipe = folder / "program.py", folder / "pipe"
    path.write_text(SAY + textwrap.dedent(program))
    os.mkfifo(pipe)
    code = DRIVE.format(program=str(path), pipe=str(pipe), signals=signals, grace=grace)
    answer: list[object] = child.value(code, env=NEUTRAL)
    return answer


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
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


def test_an_instance_that_ignores_ctrl_c_once_ends_at_the_second(tmp_path: Path) -> None:
    program = """
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
    both = [(int(signal.SIGINT), 1), (int(signal.SIGINT), 1)]
    assert drive(tmp_path, program, both) == [130, ["ready", "first", "second"]]


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
