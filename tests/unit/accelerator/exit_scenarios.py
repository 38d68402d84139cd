"""How a process leaves in the middle of work, and what it leaves behind."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from tests.helpers.subprocess import run_program

# The statement that it ends with, its status, and whether its handlers are called.
LEAVES: dict[str, tuple[str, int, bool]] = {
    "by the end of the program": ("pass", 0, True),
    "with an exit status": ("sys.exit(3)", 3, True),
    "by a signal": (
        "sys.stdout.flush(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)",
        -signal.SIGTERM,
        False,
    ),
    "at once": ("sys.stdout.flush(); os._exit(7)", 7, False),
}


def check(
    program: str,
    leave: str,
    group: int,
    *,
    env: Mapping[str, str],
    handlers: str,
    options: Sequence[str] = (),
) -> None:
    """Run a program in five processes that leave so, each with its own status and nothing on stderr.

    The program gets a number and the statement with which it leaves. It writes "not flushed " before that,
    and its exit handlers write `handlers`.
    """
    statement, status, ends_well = LEAVES[leave]
    for number in range(5 * group, 5 * group + 5):
        done = run_program(program, number, statement, env=env, options=options)
        assert (done.code, done.stderr) == (status, ""), f"program {number}: {done}"
        assert done.stdout == f"not flushed {handlers if ends_well else ''}"
