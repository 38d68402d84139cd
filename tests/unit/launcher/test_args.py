"""The options of the command line and their errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from interlock._launcher import args
from interlock.backends.xeon import run_cpu

from tests.helpers.subprocess import run_command
from tests.unit.launcher import machines

PAGE = Path(__file__).parents[3] / "docs" / "launcher.md"

# Every option of PyTorch's launcher.
OPTIONS = (
    "--multi-instance",
    "--ninstances",
    "--ncores-per-instance",
    "--node-id",
    "--rank",
    "--core-list",
    "--use-logical-core",
    "--skip-cross-node-cores",
    "--latency-mode",
    "--throughput-mode",
    "--disable-numactl",
    "--disable-taskset",
    "--enable-tcmalloc",
    "--enable-jemalloc",
    "--use-default-allocator",
    "--disable-iomp",
    "--log-path",
    "--log-file-prefix",
    "--module",
    "--no-python",
)

# The values of options that accept one.
VALUES = {
    "--ninstances": ["1"],
    "--ncores-per-instance": ["1"],
    "--node-id": ["0"],
    "--rank": ["0"],
    "--core-list": ["0"],
    "--log-path": ["a"],
    "--log-file-prefix": ["a"],
}

# The command line, and words of the error.
WRONG = {
    "--latency-mode --throughput-mode a.py": ["--latency-mode", "--throughput-mode"],
    "--latency-mode --ninstances 2 a.py": ["--latency-mode", "--ninstances"],
    "--latency-mode --ncores-per-instance 2 a.py": ["--latency-mode", "--ncores-per-instance"],
    "--latency-mode --node-id 0 a.py": ["--latency-mode", "--node-id"],
    "--latency-mode --core-list 0 a.py": ["--latency-mode", "--core-list"],
    "--latency-mode --use-logical-core a.py": ["--latency-mode", "--use-logical-core"],
    "--throughput-mode --ninstances 2 a.py": ["--throughput-mode", "--ninstances"],
    "--throughput-mode --ncores-per-instance 2 a.py": ["--throughput-mode", "--ncores-per-instance"],
    "--throughput-mode --node-id 0 a.py": ["--throughput-mode", "--node-id"],
    "--throughput-mode --core-list 0 a.py": ["--throughput-mode", "--core-list"],
    "--throughput-mode --use-logical-core a.py": ["--throughput-mode", "--use-logical-core"],
    "--enable-tcmalloc --enable-jemalloc a.py": ["--enable-tcmalloc", "--enable-jemalloc"],
    "--enable-tcmalloc --use-default-allocator a.py": ["--enable-tcmalloc", "--use-default-allocator"],
    "--enable-jemalloc --use-default-allocator a.py": ["--enable-jemalloc", "--use-default-allocator"],
    "--node-id 0 --core-list 0 --ncores-per-instance 1 a.py": ["--node-id", "--core-list"],
    "--rank 0 a.py": ["--rank", "--ninstances", "--ncores-per-instance", "--latency-mode"],
    "--rank 2 --ninstances 2 a.py": ["--rank 2", "--ninstances 2", "from 0 to 1"],
    "--rank 4 --ncores-per-instance 2 a.py": ["--rank 4", "4 instances", "from 0 to 3"],
    "--rank 2 --throughput-mode a.py": ["--rank 2", "2 instances", "from 0 to 1"],
    "-m --no-python a": ["-m", "--no-python"],
    "--json a.py": ["--json", "--dry-run"],
    "--log-file-prefix serve a.py": ["--log-file-prefix", "--log-path", "give both"],
    "--core-list 0-3 a.py": ["--core-list", "--ninstances", "--ncores-per-instance"],
    "--core-list 0-3 --ninstances 5 a.py": ["--ninstances 5", "4 cores (0-3)"],
    "--skip-cross-node-cores a.py": ["--skip-cross-node-cores", "--ncores-per-instance", "--ninstances"],
    "--ncores-per-instance 2 3 --ninstances 3 a.py": ["2 numbers", "--ninstances is 3"],
    "--ncores-per-instance 2 3 --rank 2 a.py": ["--rank 2", "2 numbers", "from 0 to 1"],
    "--ncores-per-instance 2 0 a.py": ["--ncores-per-instance", "0 is too small"],
    "--ncores-per-instance 2 -1 a.py": ["--ncores-per-instance", "-1 is too small"],
    "--ncores-per-instance a.py": ["--ncores-per-instance", "'a.py' is not an integer"],
    "--log-path logs --log-file-prefix a/b a.py": ["--log-file-prefix", "'a/b'", "--log-path"],
    "serve": ["'serve'", "--no-python", "-m"],
    "": ["error: no program given: give a Python file, -m and a module, or --no-python and an executable"],
    "--ninstances 2 --": ["no program given"],
    "--ninstances 0 a.py": ["--ninstances", "0 is too small", "minimum is 1"],
    "--ninstances two a.py": ["--ninstances", "'two'"],
    "--ncores-per-instance -2 a.py": ["--ncores-per-instance", "-2 is too small"],
    "--rank -3 --ninstances 1 a.py": ["--rank", "-3 is too small"],
    "--node-id -5 a.py": ["--node-id", "-5 is too small"],
    "--core-list 0,0 --ncores-per-instance 1 a.py": ["--core-list", "core 0 is listed twice"],
    "--core-list 0-2,2 --ncores-per-instance 1 a.py": ["--core-list", "core 2 is listed twice"],
    "--core-list 0,x --ncores-per-instance 1 a.py": ["--core-list", "'x'"],
    "--core-list , --ncores-per-instance 1 a.py": ["--core-list", "''"],
    "--core-list 8 --ncores-per-instance 1 a.py": ["core 8", "--core-list", "offline", "0-7"],
    "--core-list 0-1 --ncores-per-instance 3 a.py": ["--ncores-per-instance 3", "2 cores (0-1)"],
    "--core-list 0-3 --ninstances 3 --ncores-per-instance 2 a.py": ["--ninstances 3", "6 cores", "4 cores"],
    "--ninstances 9 a.py": ["--ninstances 9", "8 cores (0-7)"],
    "--ncores-per-instance 9 a.py": ["--ncores-per-instance 9", "8 cores (0-7)"],
    "--ninstances 3 --ncores-per-instance 3 a.py": ["--ninstances 3", "--ncores-per-instance 3", "9 cores"],
    "--ncores-per-instance 5 --skip-cross-node-cores a.py": ["--ncores-per-instance 5", "on one node"],
    "--node-id 2 a.py": ["--node-id 2", "0-1"],
    "--ninst 2 a.py": ['unknown option "--ninst"; did you mean "--ninstances"?'],
    "--ncores=2 a.py": ['unknown option "--ncores"; did you mean "--ncores-per-instance"?'],
    "--latency_mod a.py": ['unknown option "--latency_mod"; did you mean "--latency-mode"?'],
    "--hlep": ['unknown option "--hlep"; did you mean "--help"?'],
    "--zzz a.py": ['unknown option "--zzz"'],
    "-x a.py": ['unknown option "-x"'],
    "--node-id": ["--node-id"],
}


@pytest.mark.parametrize(("line", "words"), WRONG.items(), ids=WRONG)
def test_conflicting_options_are_named(
    line: str,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    root = machines.lay_out(machines.files("two_sockets"), tmp_path)
    with pytest.raises(SystemExit) as raised:
        run_cpu.main(line.split(), root=root)
    assert raised.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2, "the usage and the error"
    for word in words:
        assert word in said[1]


def is_taken(*options: str) -> bool:
    words = [word for option in options for word in (option, *VALUES.get(option, ()))]
    try:
        args.parse([*words, "a.py"])
    except SystemExit:
        return False
    return True


def test_documentation_lists_options_that_require_others() -> None:
    every = (*OPTIONS, "--dry-run", "--json")
    needs = {
        option: {other for other in every if other != option and is_taken(option, other)}
        for option in every
        if not is_taken(option)
    }
    rows = re.findall(r"^\| `(--[a-z-]+)` \| (`--[^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    assert {option: set(re.findall(r"--[a-z-]+", others)) for option, others in rows} == needs


def test_help_fits_80_columns_and_has_every_option() -> None:
    command = [sys.executable, "-m", "interlock.backends.xeon.run_cpu", "--help"]
    reported = run_command(command, env={"COLUMNS": "80"})
    assert reported.code == 0, reported.stderr
    assert max(map(len, reported.stdout.splitlines())) <= 80
    for option in (*OPTIONS, "-m", "--dry-run", "--json"):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", reported.stdout), option


@pytest.mark.parametrize("option", [option for option in OPTIONS if "-" in option[2:]])
def test_option_may_be_written_with_underscores(option: str) -> None:
    beside = {"core-list": "--ncores-per-instance 1", "rank": "--ninstances 1"}
    beside["skip-cross-node-cores"] = "--ncores-per-instance 1"
    beside["log-file-prefix"] = "--log-path a"
    name = option.removeprefix("--")
    rest = [*beside.get(name, "").split(), "a.py"]
    given = VALUES.get(option, ())
    hyphens = args.parse([option, *given, *rest])
    assert hyphens == args.parse(["--" + name.replace("-", "_"), *given, *rest])
    assert hyphens != args.parse(rest) if name != "core-list" else hyphens.core_list == (0,)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("--ncores-per-instance 2 a.py", (2,)),
        ("--ncores-per-instance 2 3 a.py", (2, 3)),
        ("--ncores_per_instance 2 3 4 -- a.py", (2, 3, 4)),
        ("--ncores-per-instance=2 3 --rank 1 a.py", (2, 3)),
        ("--ncores-per-instance 2,3 --no-python a.py", (2, 3)),
        ("--rank 0 --ncores-per-instance 2 -m a.py", (2,)),
    ],
)
def test_numbers_of_cores_end_at_the_program(line: str, numbers: tuple[int, ...]) -> None:
    rest = ["--ncores-per-instance", "7", "8", "9"]
    options = args.parse([*line.split(), *rest])
    assert (options.program, options.arguments) == ("a.py", tuple(rest))
    assert options.ncores_per_instance == numbers


def test_options_after_the_program_are_passed_to_it() -> None:
    options = args.parse(["--ninstances", "2", "a.py", "--ninstances", "3", "-m", "--", "--json"])
    assert options.ninstances == 2
    assert options.arguments == ("--ninstances", "3", "-m", "--", "--json")


@pytest.mark.parametrize("before", [[], ["--"], ["--ninstances", "2"], ["--ninstances", "2", "--"]])
@pytest.mark.parametrize("arguments", [(), ("--",), ("--", "--ninstances", "3"), ("--rank",), ("a", "--")])
def test_double_dash_is_consumed_before_the_program_only(
    before: list[str], arguments: tuple[str, ...]
) -> None:
    options = args.parse([*before, "a.py", *arguments])
    assert (options.program, options.arguments) == ("a.py", arguments)
    assert options.ninstances == (2 if "--ninstances" in before else None)


def test_minus_one_and_an_empty_folder_mean_unset_as_in_pytorch() -> None:
    line = [
        "--ninstances",
        "-1",
        "--ncores-per-instance=-1",
        "--node-id",
        "-1",
        "--rank",
        "-1",
        "--log-path",
        "",
        "a.py",
    ]
    assert args.parse(line) == args.parse(["a.py"])
