"""Errors at the start name the cause, and no process is left running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.subprocess import eval_program, run_python
from tests.unit.launcher.run_launcher import NEUTRAL, WRITE_PLACE, launch, reported, script

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)


def test_missing_program_is_named(tmp_path: Path) -> None:
    too_long = f"{'long' * 2000}.py"
    programs = (["--no-python", "no-such-program"], ["--no-python", "./nowhere"])
    for arguments in (["nowhere.py"], [too_long], *programs):
        done = launch(*arguments)
        assert done.code == 127
        assert repr(arguments[-1]) in done.stderr


def test_program_that_cannot_be_executed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("\0")
    done = launch("--no-python", str(path))
    assert (done.code, "is not executable" in done.stderr) == (126, True)
    path.chmod(0o755)
    done = launch("--no-python", str(path))
    assert (done.code, "not an executable program" in done.stderr) == (126, True)


@pytest.mark.parametrize("inside", ["", "logs", "more/logs"])
def test_log_folder_that_is_a_file_is_refused_before_the_start(inside: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = launch("--log-path", str(file / inside), script(tmp_path, WRITE_PLACE), str(tmp_path))
    assert done.code == 126
    named = repr(str(file)) if inside else "it"
    why = f"cannot use the log folder {str(file / inside)!r}: {named} is not a folder"
    assert done.stderr == f"run_cpu: {why}\n"
    assert reported(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_log_folder_without_permission_is_refused_before_the_start(tmp_path: Path) -> None:
    tmp_path.joinpath("closed").mkdir(mode=0o500)
    done = launch("--log-path", str(tmp_path / "closed"), script(tmp_path, WRITE_PLACE), str(tmp_path))
    assert done.code == 126
    assert "it is not writable" in done.stderr
    assert reported(tmp_path) == []


def test_every_obstacle_of_a_plan_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = launch("--log-path", str(tmp_path / "file"), "nowhere.py")
    assert done.code == 127
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"command": ["/nowhere/program"]}, 127),
        ({"log": "/tmp/" + 300 * "x"}, 126),
        ({"cores": [65535]}, 126),
    ],
)
def test_failure_to_start_one_instance_ends_the_others(change: dict[str, object], code: int) -> None:
    # No child is left, not even a zombie, and the affinity of this thread is unchanged.
    assert eval_program("launcher.supervisor.run_a_plan_with_a_failing_start", change) == [code, False, True]


def test_missing_kernel_files_raise_one_error(tmp_path: Path) -> None:
    code = f"""
        from pathlib import Path
        from interlock.backends.xeon import run_cpu
        raise SystemExit(run_cpu.main(["a.py"], root=Path({str(tmp_path)!r})))
    """
    done = run_python(code, env=NEUTRAL)
    assert done.code == 1
    assert done.stderr.startswith("run_cpu: this launcher needs Linux")
    assert len(done.stderr.splitlines()) == 1
