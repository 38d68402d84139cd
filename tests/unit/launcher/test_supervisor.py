"""Instances of a plan run on their cores and end together."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.helpers.subprocess import eval_program, eval_python, program, run_command, run_program
from tests.unit.launcher import machines
from tests.unit.launcher.run_launcher import LAUNCHER, NEUTRAL, WRITE_PLACE, allowed, launch, reported, script

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)
two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="two pinned instances need two cores",
)


@two_cores
def test_instances_run_on_separate_cores(tmp_path: Path) -> None:
    first, second = allowed()[:2]
    options = ["--core-list", f"{first},{second}", "--ncores-per-instance", "1"]
    done = launch(*options, WRITE_PLACE, str(tmp_path), "--rank", "a b")
    assert done.code == 0, done.stderr
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    common = {"threads": threads, "group": True, "arguments": ["--rank", "a b"]}
    assert reported(tmp_path) == [{"cores": [first]} | common, {"cores": [second]} | common]


@two_cores
def test_nested_launchers_pin_to_separate_cores(tmp_path: Path) -> None:
    first, second = allowed()[:2]
    options = ["--core-list", f"{first},{second}", "--ncores-per-instance", "1"]
    for rank in ("0", "1"):
        env = {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
        done = launch(*options, WRITE_PLACE, str(tmp_path), env=env)
        assert done.code == 0, done.stderr
    assert [about["cores"] for about in reported(tmp_path)] == [[first], [second]]


def test_instance_without_pinning_may_use_every_core(tmp_path: Path) -> None:
    options = ["--disable-taskset", "--core-list", str(allowed()[-1]), "--ncores-per-instance", "1"]
    done = launch(*options, WRITE_PLACE, str(tmp_path))
    assert done.code == 0, done.stderr
    assert [about["cores"] for about in reported(tmp_path)] == [allowed()]


def test_program_may_be_a_module_or_have_spaces_in_its_path(tmp_path: Path) -> None:
    tell = Path(WRITE_PLACE).read_text()
    path = script(tmp_path, tell, "a folder/my program.py")
    done = launch(path, str(tmp_path))
    assert done.code == 0, done.stderr
    script(tmp_path, tell, "telling/__main__.py")
    code = "from interlock.backends.xeon import run_cpu\nresult = run_cpu.main(['-m', 'telling', {!r}])"
    assert eval_python(code.format(str(tmp_path)), env={**NEUTRAL, "PYTHONPATH": str(tmp_path)}) == 0
    assert len(reported(tmp_path)) == 2


def test_variables_that_are_set_are_kept_and_logged(tmp_path: Path) -> None:
    done = launch(WRITE_PLACE, str(tmp_path), env={"OMP_NUM_THREADS": "77"})
    assert [about["threads"] for about in reported(tmp_path)] == ["77"]
    assert "OMP_NUM_THREADS is already set to '77' and is not changed" in done.stderr


def test_output_is_written_to_a_file_per_instance(tmp_path: Path) -> None:
    code = "import sys; print('said'); print('complained', file=sys.stderr)"
    logs = tmp_path / "new" / "logs"
    options = ["--ninstances", "1", "--log-path", str(logs), "--log-file-prefix", "serve"]
    done = launch(*options, script(tmp_path, code))
    assert done.code == 0, done.stderr
    assert "said" not in done.stdout + done.stderr
    (log,) = logs.iterdir()
    assert log.read_text() == "said\ncomplained\n"
    assert log.name.startswith("serve_")
    assert "_instance_0_cores_" in log.name


def test_output_is_inherited_from_the_launcher(tmp_path: Path) -> None:
    code = "import sys; print('said'); print('complained', file=sys.stderr)"
    done = launch(script(tmp_path, code))
    assert done.stdout == "said\n"
    assert "complained\n" in done.stderr


@pytest.mark.parametrize(
    ("ending", "code", "reported"),
    [
        ("sys.exit(7)", 7, "instance 0 exited with 7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "instance 0 was terminated by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, "instance 0 was terminated by SIGTERM"),
    ],
)
def test_launcher_exits_with_the_status_of_its_instance(
    ending: str, code: int, reported: str, tmp_path: Path
) -> None:
    done = launch(script(tmp_path, f"import os, signal, sys\n{ending}"))
    assert done.code == code
    assert reported in done.stderr


@two_cores
def test_failure_of_one_instance_ends_the_others(tmp_path: Path) -> None:
    # The instance that creates the folder waits for SIGTERM; the other fails once the first waits.
    waits = program("launcher.supervisor.fail_beside_an_instance_that_waits", str(tmp_path))
    os.mkfifo(tmp_path / "fifo")
    done = launch("--use-logical-core", "--ninstances", "2", *waits)
    assert done.code == 9, done.stderr
    assert "exited with 9; terminating the others" in done.stderr
    assert (tmp_path / "ended").exists()


@two_cores
def test_children_of_a_successful_instance_keep_running(tmp_path: Path) -> None:
    # One leaves a process; the other fails once the launcher has reaped the first one.
    os.mkfifo(tmp_path / "fifo")
    assert eval_program(
        "launcher.supervisor.children_of_a_successful_instance_keep_running",
        program("launcher.supervisor.fail_after_an_instance_left_a_process", str(tmp_path)),
        str(tmp_path / "left"),
        env=NEUTRAL,
    ) == [5, [0, 0]]


def test_orphans_are_reaped_while_an_instance_runs(tmp_path: Path) -> None:
    # The launcher adopts unknown processes; a process that is not reaped keeps its pid.
    done = launch(*program("launcher.supervisor.wait_until_orphans_are_reaped"))
    assert (done.code, done.stdout) == (0, "5\n"), done.stderr


@two_cores
def test_nested_launcher_divides_cores_of_a_rank_only_once(tmp_path: Path) -> None:
    first, second = allowed()[:2]
    options = ["--core-list", f"{first},{second}", "--ncores-per-instance", "1", "--no-python"]
    env = {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    done = launch(*options, *LAUNCHER, "--", WRITE_PLACE, str(tmp_path), env=env)
    assert done.code == 0, done.stderr
    assert [about["cores"] for about in reported(tmp_path)] == [[second]]


def test_existing_log_is_kept_and_the_new_one_numbered(tmp_path: Path) -> None:
    done = run_program(
        "launcher.supervisor.existing_log_is_kept_and_the_new_one_numbered",
        str(tmp_path / "logs"),
        script(tmp_path, "import sys; print(sys.argv[1])"),
        env=NEUTRAL,
    )
    assert done.code == 0, done.stderr
    names = {path.read_text(): path.stem for path in (tmp_path / "logs").iterdir()}
    first = names["first\n"]
    assert names == {"first\n": first, "second\n": f"{first}_2", "third\n": f"{first}_3"}


def test_unrequested_features_are_not_logged(tmp_path: Path) -> None:
    # No folder contains a library to preload here.
    one_core = machines.lay_out(machines.files("virtual_machine"), tmp_path / "root")
    name = "launcher.supervisor.launch_on_a_machine"
    arguments = ["--disable-taskset", script(tmp_path, "pass")]
    folders = str(one_core), str(tmp_path)
    nowhere = NEUTRAL | {"CONDA_PREFIX": "", "VIRTUAL_ENV": "", "HOME": ""}
    assert run_program(name, *folders, arguments, env=nowhere).stderr == ""
    done = run_program(name, *folders, ["--dry-run", *arguments], env=nowhere)
    assert "libiomp5.so was not found" in done.stdout
    done = run_program(name, *folders, ["--enable-jemalloc", *arguments], env=nowhere)
    assert done.stderr.startswith("run_cpu: --enable-jemalloc: libjemalloc.so was not found")
    assert len(done.stderr.splitlines()) == 1


def test_launcher_with_a_closed_output_continues(tmp_path: Path) -> None:
    line = shlex.join([*LAUNCHER, script(tmp_path, "import sys; print('said'); sys.exit(7)")])
    for output in ("2>&-", "2>/dev/full") if os.path.exists("/dev/full") else ("2>&-",):
        done = run_command(["/bin/sh", "-c", f"{line} {output}"], env=NEUTRAL)
        assert (done.code, done.stdout) == (7, "said\n")


def test_memory_is_bound_by_numactl_on_several_nodes(tmp_path: Path) -> None:
    numactl = tmp_path / "bin" / "numactl"
    numactl.parent.mkdir()
    numactl.write_text('#!/bin/sh\nmemory=$1\nshift\nMEMORY=$memory exec "$@"\n')
    numactl.chmod(0o755)
    root = machines.lay_out(machines.files("two_sockets"), tmp_path / "root")
    # Without buffers print writes the line end separately, and lines of two instances would mix.
    tell = r"import os; os.write(1, os.environ['MEMORY'].encode() + b'\n')"
    env = NEUTRAL | {"PATH": f"{numactl.parent}:{os.environ['PATH']}"}
    arguments = ["--throughput-mode", "--disable-taskset", script(tmp_path, tell)]
    done = run_program("launcher.supervisor.launch_on_a_machine", str(root), None, arguments, env=env)
    assert done.code == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["--membind=0", "--membind=1"]
