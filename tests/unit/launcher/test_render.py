"""The output of a plan: text in 80 columns, or one JSON document."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from interlock._launcher import args, plan as _plan, render
from interlock._launcher.discovery import Discovered
from interlock._launcher.topology import LogicalCore, Topology
from interlock.backends.xeon import run_cpu

from tests.helpers.subprocess import TIMEOUT_SECONDS, Result, child_environment, eval_python, run_command
from tests.unit.launcher import golden, machines

COMMAND = [sys.executable, "-m", "interlock.backends.xeon.run_cpu"]
PAGE = Path(__file__).parents[3] / "docs" / "launcher.md"
# Variables of an outer launcher, and variables that the launcher would not change.
NEUTRAL = dict.fromkeys(("LOCAL_RANK", "LOCAL_WORLD_SIZE", "LD_PRELOAD"), "")


def plan_of(machine: str, line: str) -> _plan.Plan:
    options = args.parse(line.split())
    topology = machines.topology(machine)
    return _plan.make(topology, options, {}, golden.found({}), python="python", stamp="20300102030405")


def run_cpu_with(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    return run_command([*COMMAND, *arguments], env=NEUTRAL | {"COLUMNS": ""} | dict(env or {}))


@pytest.mark.parametrize("machine", machines.NAMES)
def test_text_plan_fits_80_columns(machine: str) -> None:
    long = " ".join(f"--option-{number} value" for number in range(30))
    lines = ["--multi-instance a.py", "--use-logical-core a.py", f"--ninstances 2 a.py {long}"]
    for line in lines:
        text = render.as_text(plan_of(machine, line), 80)
        assert max(map(len, text.splitlines())) <= 80, text


def test_many_scattered_cores_are_wrapped_and_aligned() -> None:
    cores = tuple(LogicalCore(number, number, 0, 0) for number in range(0, 200, 2))
    topology = Topology(cores, frozenset(core.number for core in cores), frozenset({0}))
    plan = _plan.make(topology, args.parse(["a.py"]), {}, Discovered(), python="python", stamp="now")
    text = render.as_text(plan, 80)
    assert max(map(len, text.splitlines())) <= 80
    table = text.split("\n\n")[1].splitlines()
    start = table[0].index("cores")
    listed = "".join(line[start:] for line in table[1:])
    assert listed == ",".join(str(core.number) for core in cores)
    assert all(line[:start].strip() == "" for line in table[2:])


def test_piped_output_is_not_wrapped() -> None:
    long = " ".join(f"--option-{number} value" for number in range(30))
    plan = dataclasses.replace(
        plan_of("cpuset_of_three_odd_cores", f"a.py {long}"),
        warnings=("word " * 40 + "end",),
        verbose_notes=(),
    )
    text = render.as_text(plan, None)
    assert f"{long}\n" in text
    assert f"  - {plan.warnings[0]}" in text
    done = run_cpu_with("--dry-run", "nowhere.py", *long.split())
    assert f" nowhere.py {long}\n" in done.stdout
    done = run_cpu_with("--dry-run", "nowhere.py", *long.split(), env={"COLUMNS": "60"})
    assert max(map(len, done.stdout.splitlines())) <= 60


def test_plan_that_pins_nothing_shows_threads_and_no_cores() -> None:
    plan = plan_of("two_sockets", "--throughput-mode --disable-taskset a.py")
    plan_text, table = render.as_text(plan, 80).split("\n\n")[:2]
    assert plan_text.endswith("\nplan       2 instances, not pinned to cores")
    rows = [line.split() for line in table.splitlines()]
    assert rows == [["instance", "threads", "memory"], ["0", "4", "0"], ["1", "4", "1"]]


def test_command_that_is_shown_can_be_pasted() -> None:
    plan = plan_of("two_sockets", "--ninstances 1 a.py")
    text = render.as_text(plan, 80)
    shown = re.search(r"^command\n((?:  .*\n)+)", text, re.MULTILINE)
    assert shown is not None
    assert shown[1].replace("\\\n", "").split() == list(plan.instances[0].command)


def test_documentation_shows_the_printed_plan() -> None:
    page = PAGE.read_text()
    block = re.search(
        r"^\$ python -m interlock\.backends\.xeon\.run_cpu (.*) --dry-run (.*)\n((?:.*\n)*?)```",
        page,
        re.MULTILINE,
    )
    assert block is not None
    plan = plan_of("two_sockets_hyper_threads", f"{block[1]} {block[2]}")
    assert block[3].rstrip("\n") == render.as_text(plan, 80)


def test_documentation_names_every_key_of_the_json_plan() -> None:
    page = PAGE.read_text()
    document = render.as_document(plan_of("two_sockets", "a.py"))
    machine, instances = document["machine"], document["instances"]
    assert isinstance(machine, dict)
    assert isinstance(instances, list)
    for name in (*document, *machine, *instances[0]):
        assert f"`{name}`" in page, name


def test_json_plan_is_printed_alone_and_starts_nothing(tmp_path: Path) -> None:
    logs = str(tmp_path / "logs")
    done = run_cpu_with("--dry-run", "--json", "--log-path", logs, "nowhere.py", "--port", "80")
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["format"] == render.FORMAT
    assert document["instances"][0]["command"][-4:] == ["-u", "nowhere.py", "--port", "80"]
    assert not (tmp_path / "logs").exists()


def test_dry_run_reports_what_would_fail(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    logs = str(tmp_path / "file" / "logs")
    done = run_cpu_with("--dry-run", "--log-path", logs, "nowhere.py")
    assert done.code == 0
    assert "- program 'nowhere.py' does not exist" in done.stdout
    assert f"- cannot use the log folder {logs!r}: {str(tmp_path / 'file')!r} is not a folder" in done.stdout
    done = run_cpu_with("--dry-run", "--json", "--no-python", "no-such-program")
    assert "program 'no-such-program' does not exist" in json.loads(done.stdout)["notes"]


@pytest.mark.parametrize("arguments", [["--dry-run", "a.py"], ["--dry-run", "--json", "a.py"], ["--help"]])
def test_closed_output_pipe_ends_the_launcher_like_others(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, env=child_environment(NEUTRAL)
    ) as process:
        os.close(writing)
        _, reported = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -signal.SIGPIPE
    assert reported == b""


@pytest.mark.parametrize("arguments", [["--dry-run", "a.py"], ["--dry-run", "--json", "a.py"], ["--help"]])
@pytest.mark.parametrize("output", ["&-", "/dev/full"])
def test_unwritable_output_prints_one_line_and_exits_with_1(output: str, arguments: list[str]) -> None:
    if output == "/dev/full" and not os.path.exists(output):
        pytest.skip("there is no /dev/full")
    line = f"{shlex.join([*COMMAND, *arguments])} >{output}"
    done = run_command(["/bin/sh", "-c", line], env=NEUTRAL)
    assert done.code == 1
    reason = "there is no standard output" if output == "&-" else "cannot write the output: No space"
    assert done.stderr.startswith(f"run_cpu: {reason}")
    assert len(done.stderr.splitlines()) == 1


def test_undecodable_path_is_shown() -> None:
    line = f"{shlex.join([*COMMAND, '--dry-run'])} \"$(printf '\\377').py\""
    done = run_command(["/bin/sh", "-c", line], env=NEUTRAL)
    assert done.code == 0, done.stderr
    assert r"\udcff.py" in done.stdout


def test_dry_run_reads_the_machine_below_a_given_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NEUTRAL:
        monkeypatch.delenv(name, raising=False)
    root = machines.lay_out(machines.files("snc4"), tmp_path)
    assert run_cpu.main(["--throughput-mode", "--dry-run", "--json", "a.py"], root=root) == 0
    instances = json.loads(capsys.readouterr().out)["instances"]
    assert [instance["nodes"] for instance in instances] == [[node] for node in range(8)]


def test_importing_interlock_imports_no_launcher() -> None:
    code = "import sys, interlock\nresult = list(sys.modules)"
    assert [name for name in eval_python(code) if "xeon" in name or "_launcher" in name] == []
