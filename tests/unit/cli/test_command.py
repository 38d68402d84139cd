"""The exit of the command: wrong names, JSON, terminals, closed pipes, Ctrl-C."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from interlock import __version__

from tests.helpers import fake_libraries
from tests.helpers.subprocess import TIMEOUT_SECONDS, Result, child_environment, run_command
from tests.unit.cli.command import COMMAND, document, interlock, sections, text, variables


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (("flag",), 'did you mean "flags"?'),
        (("acelerators",), 'did you mean "accelerators"?'),
        (("FLAGS",), 'did you mean "flags"?'),
        (("cudnn",), 'did you mean "flags cudnn"?'),
        (("cudnn.enabled",), 'did you mean "explain cudnn.enabled"?'),
        (("backends.cudnn.enabeld",), 'did you mean "explain cudnn.enabled"?'),
        (("--jsno",), 'did you mean "--json"?'),
        (("--laod",), 'did you mean "--load"?'),
        (("--verison",), 'did you mean "--version"?'),
        (("flags", "--jsn"), 'did you mean "--json"?'),
        (("flags", "cudn"), 'did you mean "cudnn"?'),
        (("flags", "CUDNN"), 'did you mean "cudnn"?'),
        (("flags", "cudnn", "cuda.matmull"), 'did you mean "cuda.matmul"?'),
        (("explain", "cudnn.enabeld"), 'did you mean "explain cudnn.enabled"?'),
        (("explain", "CUDNN.enabled"), 'did you mean "explain cudnn.enabled"?'),
        (("explain", "CUDNN"), 'did you mean "flags cudnn"?'),
        (("explain", "backends.cudnn.enabeld", "--json"), 'did you mean "explain cudnn.enabled"?'),
        (("explain", "cudnn"), "list its flags with `python -m interlock flags cudnn`"),
        (("zzz",), 'unknown command "zzz"; the commands are report, flags, explain, accelerators, memory'),
        (("explain", "zzz"), 'unknown flag "zzz"'),
        (
            ("explain", "mylib.solver"),
            'unknown flag "mylib.solver"; if mylib registers it, add --import mylib',
        ),
        (("flags", "mylib.solver"), "add --import mylib"),
        (("flags", "mylib"), 'unknown flag or module "mylib"; if mylib registers flags, add --import mylib'),
        (("explain", "torch.num_threads"), "it is a setting of torch: call settings.explain in the program"),
        (("explain", "--import", "json", "json.solver"), 'unknown flag "json.solver"'),
        (("report", "cudnn"), 'report: unexpected argument "cudnn"'),
        (("",), 'unknown command ""'),
        (("flags", ""), 'unknown flag or module ""'),
        (("explain", ""), 'unknown flag ""'),
        (("flags", "--load"), 'flags has no option "--load"'),
        (("explain", "cudnn.enabled", "cudnn.benchmark"), 'unexpected argument "cudnn.benchmark"'),
        (("accelerators", "host"), 'unexpected argument "host"'),
        (("explain",), "explain --help"),
        (("--color", "sometimes"), "sometimes"),
        (("--color",), "--color"),
        (("--load=3",), "--load"),
    ],
)
def test_wrong_command_line_prints_one_line_with_a_suggestion(arguments: tuple[str, ...], near: str) -> None:
    done = interlock(*arguments)
    assert done.code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("python -m interlock: ")
    assert near in line


def test_options_may_precede_the_command() -> None:
    assert text("--json", "--color", "never", "flags", "cudnn") == text("flags", "cudnn", "--json")


def test_report_is_the_default_command() -> None:
    assert json.loads(text("report", "--json")).keys() == json.loads(text("--json")).keys()
    assert text("report", "--help") == text("--help")
    assert text("report", "--version") == text("--version")


def test_help_lists_the_commands() -> None:
    reported = text("--help")
    assert all(command in reported for command in ("flags", "explain", "accelerators", "--load", "--json"))
    assert "NAME" in text("explain", "--help")


def test_version_is_printed_alone() -> None:
    assert text("--version") == text("-V") == f"interlock {__version__}\n"
    assert json.loads(text("--version", "--json")) == {"format": 1, "versions": {"interlock": __version__}}


def test_entries_of_a_document_have_the_same_keys() -> None:
    reported = document(INTERLOCK_ACCELERATOR="host:2", INTERLOCK_CUDNN_ENABLED="0", CUDA_HOME="/a")
    assert reported["format"] == 1
    for entries in (reported["accelerators"]["devices"], reported["libraries"], reported["environment"]):
        assert len(entries) > 1
        assert len({tuple(entry) for entry in entries}) == 1


def test_json_documents_of_the_commands_have_their_structure() -> None:
    (flag,) = document("flags", "cuda.sdp_priority")["flags"]
    assert flag["value"] == flag["default"]
    assert flag["value"][0] == "flash_attention"
    explained = document("explain", "cudnn.enabled")["flag"]
    assert explained["accepts"] == "a bool"
    assert explained["type"] == "bool"
    assert explained["variables"] == ["INTERLOCK_CUDNN_ENABLED"]
    devices = document("accelerators", INTERLOCK_ACCELERATOR="host:2")["accelerators"]["devices"]
    assert [device["free_memory"] for device in devices] == [device["total_memory"] for device in devices]


@fake_libraries.NEEDS_COMPILER
def test_load_option_loads_libraries_and_continues_after_a_failure(
    tmp_path: Path,
) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    (tmp_path / "libcufft.so.12").write_text("not a library")
    given = fake_libraries.environment(
        tmp_path, INTERLOCK_CUDNN_PATH=str(tmp_path), INTERLOCK_CUFFT_PATH=str(tmp_path)
    )
    before = {library["name"]: library for library in document(**given)["libraries"]}
    assert before["cudnn"] == {
        "name": "cudnn",
        "path": str(tmp_path / "libcudnn.so.9"),
        "source": "explicit",
        "is_loaded": False,
        "version": None,
        "problem": None,
    }
    # The contents of a file are checked only by loading it.
    assert before["cufft"] == before["cudnn"] | {"name": "cufft", "path": str(tmp_path / "libcufft.so.12")}
    after = {library["name"]: library for library in document("--load", **given)["libraries"]}
    assert after["cudnn"]["is_loaded"]
    assert after["cudnn"]["version"] == "9.28.0"
    assert "libcufft.so.12" in after["cufft"]["problem"]
    rows = {row[0]: row[1:] for row in sections(text("--load", **given))["Vendor libraries"]}
    assert rows["cudnn"][:2] == ["loaded", "9.28.0"]
    assert rows["cufft"][0] == "failed"
    assert after["cufft"]["problem"] in rows["cufft"]


def test_wrong_path_is_reported_in_the_row_of_its_library(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere")
    for arguments in ((), ("--load",)):
        rows = {
            row[0]: row[1:]
            for row in sections(text(*arguments, INTERLOCK_CUDNN_PATH=path))["Vendor libraries"]
        }
        state, problem = rows["cudnn"]
        assert state == "failed"
        assert path in problem
        assert "INTERLOCK_CUDNN_PATH" in problem


def test_missing_driver_is_reported_without_failing() -> None:
    for arguments in ((), ("accelerators",)):
        reported = dict(sections(text(*arguments, INTERLOCK_ACCELERATOR="foo"))["Accelerators"])
        assert reported["devices"] == "0"
        assert '"foo"' in reported["reason"]


def test_closed_output_pipe_ends_the_command_like_others() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*COMMAND, "flags"], stdout=writing, stderr=subprocess.PIPE, env=child_environment(variables({}))
    ) as process:
        os.close(writing)
        _, reported = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -signal.SIGPIPE
    assert reported == b""


def with_output(redirected: str, *arguments: str) -> Result:
    """Run the command with its output redirected by a shell."""
    return run_command(["sh", "-c", f'exec "$@" {redirected}', "sh", *COMMAND, *arguments], env=variables({}))


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--help",), ("--version",)])
@pytest.mark.parametrize(
    ("redirected", "reason"),
    [
        (">&-", "no standard output"),
        pytest.param(
            ">/dev/full",
            "No space left",
            marks=pytest.mark.skipif(
                not Path("/dev/full").exists(),
                reason="there is no /dev/full here",
            ),
        ),
    ],
)
def test_unwritable_output_prints_one_line(redirected: str, reason: str, arguments: tuple[str, ...]) -> None:
    done = with_output(redirected, *arguments)
    assert done.code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("python -m interlock: ")
    assert reason in line


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("NAME",), 2),
        (("--NAME",), 2),
        (("flags", "NAME"), 2),
        (("flags", "--NAME"), 2),
        (("explain", "NAME"), 2),
        (("report", "NAME"), 2),
        (("--color", "NAME"), 2),
        (("--import", "NAME"), 3),
        (("memory", "NAME"), 4),
        (("memory", "--diff", "NAME", "NAME"), 4),
        (("watch", "--NAME"), 2),
        (("watch", "--json", "/missing/NAME", "x.py"), 1),
    ],
)
def test_errors_show_control_characters_of_names_escaped(arguments: tuple[str, ...], code: int) -> None:
    done = interlock(*(each.replace("NAME", "a\x1b[31m\nb") for each in arguments))
    assert done.code == code
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
    assert r"a\x1b[31m\nb" in done.stderr


def test_wrong_name_without_stderr_keeps_the_exit_status() -> None:
    done = with_output("2>&-", "zzz")
    assert (done.code, done.stdout) == (2, "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a program make a pipe small")
def test_interrupt_ends_the_command_without_a_traceback() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen(
        [*COMMAND, "flags", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=child_environment(variables({})),
    ) as process:
        os.close(writing)
        # It blocks during its output because the pipe is full.
        assert select.select([reading], [], [], TIMEOUT_SECONDS)[0]
        process.send_signal(signal.SIGINT)
        _, reported = process.communicate(timeout=TIMEOUT_SECONDS)
    os.close(reading)
    assert process.returncode == -signal.SIGINT
    assert reported == b""


def on_a_terminal(columns: int, *arguments: str, **more: str) -> str:
    """Return the output of the command on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=theirs, env=child_environment(variables({"TERM": "xterm"} | more))
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while select.select([ours], [], [], TIMEOUT_SECONDS)[0] and (piece := os.read(ours, 4096)):
                written += piece
        except OSError:
            pass  # On Linux, EIO means that the other side is closed.
        assert process.wait(timeout=TIMEOUT_SECONDS) == 0
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def test_terminal_output_has_colours_and_its_width() -> None:
    for columns in (60, 100):
        written = on_a_terminal(columns, "flags")
        assert written == text("flags", "--color", "always", COLUMNS=str(columns))
    assert on_a_terminal(60, "flags") != on_a_terminal(100, "flags")


@pytest.mark.parametrize("variable", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_terminal_output_respects_no_color(variable: dict[str, str]) -> None:
    assert "\x1b" not in on_a_terminal(80, **variable)
