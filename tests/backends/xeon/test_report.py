"""A plan reads well: in 80 columns for people, as one document for programs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from interlock.backends.xeon import _options, _plan, _report, run_cpu
from interlock.backends.xeon._found import Found
from interlock.backends.xeon._topology import LogicalCore, Topology

from tests import child
from tests.backends.xeon import golden, machines

PAGE = Path(__file__).parents[3] / "docs" / "launcher.md"
# What the launcher takes of an outer one, and what it would leave alone.
NEUTRAL = dict.fromkeys(("LOCAL_RANK", "LOCAL_WORLD_SIZE", "LD_PRELOAD"), "")


def plan_of(machine: str, line: str) -> _plan.Plan:
    options = _options.parse(line.split())
    topology = machines.topology(machine)
    return _plan.make(topology, options, {}, golden.found({}), python="python", stamp="20300102030405")


@pytest.mark.parametrize("machine", machines.NAMES)
def test_the_plan_for_people_fits_into_80_columns(machine: str) -> None:
    long = " ".join(f"--option-{number} value" for number in range(30))
    lines = ["--multi-instance a.py", "--use-logical-core a.py", f"--ninstances 2 a.py {long}"]
    for line in lines:
        text = _report.as_text(plan_of(machine, line))
        assert max(map(len, text.splitlines())) <= 80, text


def test_many_scattered_cores_go_on_in_the_next_line_below_the_first() -> None:
    cores = tuple(LogicalCore(number, number, 0, 0) for number in range(0, 200, 2))
    topology = Topology(cores, frozenset(core.number for core in cores), frozenset({0}))
    plan = _plan.make(topology, _options.parse(["a.py"]), {}, Found(), python="python", stamp="now")
    text = _report.as_text(plan)
    assert max(map(len, text.splitlines())) <= 80
    table = text.split("\n\n")[1].splitlines()
    start = table[0].index("cores")
    listed = "".join(line[start:] for line in table[1:])
    assert listed == ",".join(str(core.number) for core in cores)
    assert all(line[:start].strip() == "" for line in table[2:])


def test_the_command_that_is_shown_can_be_pasted() -> None:
    plan = plan_of("two_sockets", "--ninstances 1 a.py")
    text = _report.as_text(plan)
    shown = re.search(r"^command\n((?:  .*\n)+)", text, re.MULTILINE)
    assert shown is not None
    assert shown[1].replace("\\\n", "").split() == list(plan.instances[0].command)


def test_the_page_shows_the_plan_that_is_printed() -> None:
    page = PAGE.read_text()
    block = re.search(
        r"^\$ python -m interlock\.backends\.xeon\.run_cpu (.*) --dry-run (.*)\n((?:.*\n)*?)```",
        page,
        re.MULTILINE,
    )
    assert block is not None
    assert block[3].rstrip("\n") == _report.as_text(
        plan_of("two_sockets_hyper_threads", f"{block[1]} {block[2]}")
    )


def test_the_page_names_everything_in_the_document() -> None:
    page = PAGE.read_text()
    document = _report.as_document(plan_of("two_sockets", "a.py"))
    machine, instances = document["machine"], document["instances"]
    assert isinstance(machine, dict)
    assert isinstance(instances, list)
    for name in (*document, *machine, *instances[0]):
        assert f"`{name}`" in page, name


def test_the_document_is_printed_alone_and_starts_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "interlock.backends.xeon.run_cpu", "--dry-run", "--json", "--log-path"]
    done = child.command([*command, str(tmp_path / "logs"), "nowhere.py", "--port", "80"], env=NEUTRAL)
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["format"] == _report.FORMAT
    assert document["instances"][0]["command"][-4:] == ["-u", "nowhere.py", "--port", "80"]
    assert not (tmp_path / "logs").exists()


def test_a_dry_run_reads_the_machine_below_the_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NEUTRAL:
        monkeypatch.delenv(name, raising=False)
    root = machines.lay_out(machines.files("snc4"), tmp_path)
    assert run_cpu.main(["--throughput-mode", "--dry-run", "--json", "a.py"], root=root) == 0
    instances = json.loads(capsys.readouterr().out)["instances"]
    assert [instance["nodes"] for instance in instances] == [[node] for node in range(8)]


def test_importing_interlock_imports_no_launcher() -> None:
    code = "import sys, interlock\nanswer = [name for name in sys.modules if 'xeon' in name]"
    assert child.value(code) == []
