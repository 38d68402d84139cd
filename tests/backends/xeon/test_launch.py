"""Plans really run: on their cores, to the end, and all instances end together."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import child
from tests.backends.xeon import machines

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="the launcher needs Linux: threads can't be pinned here"
)
LAUNCHER = [sys.executable, "-P", "-m", "interlock.backends.xeon.run_cpu"]
# Set in the environment of the tests, they would be taken for those of an outer launcher.
NEUTRAL = {"LOCAL_RANK": "", "LOCAL_WORLD_SIZE": "", "LD_PRELOAD": ""}
# Writes where it runs into a file with a name of its own.
TELL = """
    import json, os, sys
    about = {"cores": sorted(os.sched_getaffinity(0)), "threads": os.environ.get("OMP_NUM_THREADS"),
             "group": os.getpgid(0) == os.getpid(), "arguments": sys.argv[2:]}
    with open(os.path.join(sys.argv[1], f"{os.getpid()}.json"), "w") as file:
        json.dump(about, file)
"""


def allowed() -> list[int]:
    return sorted(os.sched_getaffinity(0))


two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="two pinned instances need two cores",
)


def script(folder: Path, code: str, name: str = "program.py") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))
    return str(path)


def launch(*arguments: str, env: Mapping[str, str] | None = None) -> child.Result:
    return child.command([*LAUNCHER, *arguments], env=NEUTRAL | dict(env or {}))


def told(folder: Path) -> list[dict[str, object]]:
    """What the instances of TELL have written, by their cores."""
    read = [json.loads(path.read_text()) for path in folder.glob("[0-9]*.json")]
    return sorted(read, key=lambda about: list(about["cores"]))


@two_cores
def test_two_instances_run_on_a_core_of_their_own(tmp_path: Path) -> None:
    first, second = allowed()[:2]
    options = ["--core-list", f"{first},{second}", "--ncores-per-instance", "1"]
    done = launch(*options, script(tmp_path, TELL), str(tmp_path), "--rank", "a b")
    assert done.code == 0, done.stderr
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    common = {"threads": threads, "group": True, "arguments": ["--rank", "a b"]}
    assert told(tmp_path) == [{"cores": [first]} | common, {"cores": [second]} | common]


@two_cores
def test_the_launchers_of_an_outer_one_pin_to_cores_of_their_own(tmp_path: Path) -> None:
    first, second = allowed()[:2]
    options = ["--core-list", f"{first},{second}", "--ncores-per-instance", "1"]
    for rank in ("0", "1"):
        env = {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
        done = launch(*options, script(tmp_path, TELL), str(tmp_path), env=env)
        assert done.code == 0, done.stderr
    assert [about["cores"] for about in told(tmp_path)] == [[first], [second]]


def test_without_pinning_an_instance_may_run_everywhere(tmp_path: Path) -> None:
    options = ["--disable-taskset", "--core-list", str(allowed()[-1]), "--ncores-per-instance", "1"]
    done = launch(*options, script(tmp_path, TELL), str(tmp_path))
    assert done.code == 0, done.stderr
    assert [about["cores"] for about in told(tmp_path)] == [allowed()]


def test_a_program_may_lie_in_a_folder_with_spaces_and_be_a_module(tmp_path: Path) -> None:
    path = script(tmp_path, TELL, "a folder/my program.py")
    done = launch(path, str(tmp_path))
    assert done.code == 0, done.stderr
    script(tmp_path, TELL, "telling/__main__.py")
    code = "from interlock.backends.xeon import run_cpu\nanswer = run_cpu.main(['-m', 'telling', {!r}])"
    assert child.value(code.format(str(tmp_path)), env={**NEUTRAL, "PYTHONPATH": str(tmp_path)}) == 0
    assert len(told(tmp_path)) == 2


def test_variables_that_are_set_stay_and_are_spoken_of(tmp_path: Path) -> None:
    done = launch(script(tmp_path, TELL), str(tmp_path), env={"OMP_NUM_THREADS": "77"})
    assert [about["threads"] for about in told(tmp_path)] == ["77"]
    assert "OMP_NUM_THREADS is set already and stays '77'" in done.stderr


def test_output_goes_to_a_file_for_each_instance(tmp_path: Path) -> None:
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


def test_output_goes_where_that_of_the_launcher_goes(tmp_path: Path) -> None:
    code = "import sys; print('said'); print('complained', file=sys.stderr)"
    done = launch(script(tmp_path, code))
    assert done.stdout == "said\n"
    assert "complained\n" in done.stderr


@pytest.mark.parametrize(
    ("ending", "code", "told"),
    [
        ("sys.exit(7)", 7, "instance 0 ended with 7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "instance 0 was ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, "instance 0 was ended by SIGTERM"),
    ],
)
def test_how_an_instance_ends_is_how_the_launcher_ends(
    ending: str, code: int, told: str, tmp_path: Path
) -> None:
    done = launch(script(tmp_path, f"import os, signal, sys\n{ending}"))
    assert done.code == code
    assert told in done.stderr


@two_cores
def test_where_one_instance_fails_the_others_are_ended(tmp_path: Path) -> None:
    # The one that gets the folder waits to be ended; the other fails when it is sure of that.
    code = """
        import os, signal, sys
        folder = sys.argv[1]
        try:
            os.mkdir(os.path.join(folder, "taken"))
        except FileExistsError:
            open(os.path.join(folder, "fifo")).read()
            sys.exit(9)
        def end(number, frame):
            open(os.path.join(folder, "ended"), "w").close()
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        open(os.path.join(folder, "fifo"), "w").close()
        while True:
            signal.pause()
    """
    os.mkfifo(tmp_path / "fifo")
    done = launch("--ninstances", "2", script(tmp_path, code), str(tmp_path))
    assert done.code == 9, done.stderr
    assert "ended with 9, so the others are ended" in done.stderr
    assert (tmp_path / "ended").exists()


@two_cores
def test_what_an_instance_that_ended_well_left_behind_is_left_alone(tmp_path: Path) -> None:
    # One leaves a process; the other fails when the launcher has taken note of the first one's end.
    program = """
        import os, subprocess, sys
        folder = sys.argv[1]
        try:
            os.mkdir(os.path.join(folder, "taken"))
        except FileExistsError:
            first = int(open(os.path.join(folder, "fifo")).read())
            try:
                while True:
                    os.kill(first, 0)
                    os.sched_yield()
            except ProcessLookupError:
                sys.exit(5)
        left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        open(os.path.join(folder, "left"), "w").write(str(left.pid))
        open(os.path.join(folder, "fifo"), "w").write(str(os.getpid()))
    """
    os.mkfifo(tmp_path / "fifo")
    code = f"""
        import os, signal
        from interlock.backends.xeon import run_cpu
        code = run_cpu.main(["--ninstances", "2", {script(tmp_path, program)!r}, {str(tmp_path)!r}])
        # The launcher adopted it, so that this process is told of its end.
        left = int(open({str(tmp_path / "left")!r}).read())
        answer = [code, os.waitpid(left, os.WNOHANG)]
        os.kill(left, signal.SIGKILL)
    """
    assert child.value(code, env=NEUTRAL) == [5, [0, 0]]


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    for arguments in (["nowhere.py"], ["--no-python", "no-such-program"], ["--no-python", "./nowhere"]):
        done = launch(*arguments)
        assert done.code == 127
        assert repr(arguments[-1]) in done.stderr


def test_a_program_that_can_not_be_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("\0")
    done = launch("--no-python", str(path))
    assert (done.code, "is not executable" in done.stderr) == (126, True)
    path.chmod(0o755)
    done = launch("--no-python", str(path))
    assert (done.code, "it is no program" in done.stderr) == (126, True)


@pytest.mark.parametrize("inside", ["", "logs", "more/logs"])
def test_a_log_folder_that_is_or_lies_in_a_file_is_named_before_anything_starts(
    inside: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    done = launch("--log-path", str(file / inside), script(tmp_path, TELL), str(tmp_path))
    assert done.code == 126
    named = repr(str(file)) if inside else "it"
    why = f"the log folder {str(file / inside)!r} can't be used: {named} is not a folder"
    assert done.stderr == f"run_cpu: {why}\n"
    assert told(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_log_folder_without_permission_is_named_before_anything_starts(tmp_path: Path) -> None:
    tmp_path.joinpath("closed").mkdir(mode=0o500)
    done = launch("--log-path", str(tmp_path / "closed"), script(tmp_path, TELL), str(tmp_path))
    assert done.code == 126
    assert "can't be used: it may not be written to" in done.stderr
    assert told(tmp_path) == []


def test_all_that_keeps_a_plan_from_running_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = launch("--log-path", str(tmp_path / "file"), "nowhere.py")
    assert done.code == 127
    assert len(done.stderr.splitlines()) == 2


def test_nothing_is_said_of_what_nobody_asked_for(tmp_path: Path) -> None:
    # No folder has a library to preload here.
    one_core = machines.lay_out(machines.files("virtual_machine"), tmp_path / "root")
    code = f"""
        import sys
        from interlock.backends.xeon import run_cpu
        from pathlib import Path
        sys.prefix = {str(tmp_path)!r}
        arguments = [*{{options!r}}, "--disable-taskset", {script(tmp_path, "pass")!r}]
        raise SystemExit(run_cpu.main(arguments, root=Path({str(one_core)!r})))
    """
    nowhere = NEUTRAL | {"CONDA_PREFIX": "", "VIRTUAL_ENV": "", "HOME": ""}
    assert child.run(code.format(options=[]), env=nowhere).stderr == ""
    done = child.run(code.format(options=["--dry-run"]), env=nowhere)
    assert "libiomp5.so is not found" in done.stdout
    done = child.run(code.format(options=["--enable-jemalloc"]), env=nowhere)
    assert done.stderr.startswith("run_cpu: --enable-jemalloc: libjemalloc.so is not found")
    assert len(done.stderr.splitlines()) == 1


def test_a_launcher_whose_words_nobody_reads_goes_on(tmp_path: Path) -> None:
    line = shlex.join([*LAUNCHER, script(tmp_path, "import sys; print('said'); sys.exit(7)")])
    for output in ("2>&-", "2>/dev/full") if os.path.exists("/dev/full") else ("2>&-",):
        done = child.command(["/bin/sh", "-c", f"{line} {output}"], env=NEUTRAL)
        assert (done.code, done.stdout) == (7, "said\n")


# Runs a plan of two instances, of which the second can't be started; {kind} says why.
HALF = """
    import json, os, sys
    from interlock.backends.xeon import _arguments, _launch, _plan, _topology
    from interlock.backends.xeon._found import Found
    from pathlib import Path
    import dataclasses
    before = os.sched_getaffinity(0)
    core = min(before)
    topology = _topology.read(Path("/"), {{core}})
    options = _arguments.parse(["--no-python", sys.executable, "-c", "import signal; signal.pause()"])
    plan = _plan.make(topology, options, {{}}, Found(), python="", stamp="")
    (first,) = plan.instances
    second = dataclasses.replace(first, index=1, {change})
    plan = dataclasses.replace(plan, instances=(first, second))
    code = _launch.run(plan, dict(os.environ))
    try:
        os.waitpid(-1, os.WNOHANG)
        left = True
    except ChildProcessError:
        left = False
    answer = [code, left, os.sched_getaffinity(0) == before]
"""


@pytest.mark.parametrize(
    ("change", "code"),
    [("command=('/nowhere/program',)", 127), ("log='/tmp/' + 300 * 'x'", 126), ("cores=(65535,)", 126)],
)
def test_where_one_instance_can_not_be_started_the_others_are_ended(change: str, code: int) -> None:
    # No child is left over, not even one to be reaped, and this thread may run where it might before.
    assert child.value(HALF.format(change=change)) == [code, False, True]


def test_memory_is_bound_by_numactl_where_there_are_nodes_to_choose_between(tmp_path: Path) -> None:
    numactl = tmp_path / "bin" / "numactl"
    numactl.parent.mkdir()
    numactl.write_text('#!/bin/sh\nmemory=$1\nshift\nMEMORY=$memory exec "$@"\n')
    numactl.chmod(0o755)
    root = machines.lay_out(machines.files("two_sockets"), tmp_path / "root")
    # Without buffers print writes a line's end by itself, and lines of two instances would mix.
    tell = r"import os; os.write(1, os.environ['MEMORY'].encode() + b'\n')"
    code = f"""
        from interlock.backends.xeon import run_cpu
        from pathlib import Path
        program = {script(tmp_path, tell)!r}
        arguments = ["--throughput-mode", "--disable-taskset", program]
        raise SystemExit(run_cpu.main(arguments, root=Path({str(root)!r})))
    """
    done = child.run(code, env=NEUTRAL | {"PATH": f"{numactl.parent}:{os.environ['PATH']}"})
    assert done.code == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["--membind=0", "--membind=1"]


def test_a_system_without_the_files_of_the_kernel_is_one_clear_error(tmp_path: Path) -> None:
    code = f"""
        from pathlib import Path
        from interlock.backends.xeon import run_cpu
        raise SystemExit(run_cpu.main(["a.py"], root=Path({str(tmp_path)!r})))
    """
    done = child.run(code, env=NEUTRAL)
    assert done.code == 1
    assert done.stderr.startswith("run_cpu: this launcher needs Linux")
    assert len(done.stderr.splitlines()) == 1
