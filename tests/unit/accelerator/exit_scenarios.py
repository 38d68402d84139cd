"""Ways in which a process exits with pending work, and the expected output."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from tests.helpers.subprocess import run_program

# The last statement, the exit status, and whether exit handlers are called.
EXITS: dict[str, tuple[str, int, bool]] = {
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
    """Run a program in five processes; each must exit with its own status and an empty stderr.

    The program gets a number and the statement with which it exits. It writes "not flushed " before that,
    and its exit handlers write `handlers`.
    """
    statement, status, ends_well = EXITS[leave]
    for number in range(5 * group, 5 * group + 5):
        done = run_program(program, number, statement, env=env, options=options)
        assert (done.code, done.stderr) == (status, ""), f"program {number}: {done}"
        assert done.stdout == f"not flushed {handlers if ends_well else ''}"
