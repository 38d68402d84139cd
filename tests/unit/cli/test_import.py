"""`--import`: flags of other libraries on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.subprocess import PROGRAMS, Result, run_command
from tests.unit.cli.command import COMMAND, document, text, variables

LIBRARY = """
from interlock import backends

print("importing")
verbose = backends.register("mylib.verbose", False, doc="Whether mylib prints what it does.")
ratio = backends.register("mylib.ratio", 0.5, doc="How much.", minimum=0, maximum=1, affects="the sampler")
"""
OTHER = 'from interlock import backends; backends.register("other.name", None, type=str, doc="A name.")\n'


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Return a folder with modules, for PYTHONPATH."""
    (tmp_path / "mylib.py").write_text(LIBRARY)
    (tmp_path / "other.py").write_text(OTHER)
    (tmp_path / "broken.py").write_text("raise ValueError('first line\\nsecond line')\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(5)\n")
    (tmp_path / "wrong.py").write_text("def\n")
    return str(tmp_path)


def run(folder: str, *arguments: str, **more: str) -> Result:
    """Run the command with the modules in PYTHONPATH."""
    return run_command([*COMMAND, *arguments], env=variables({"PYTHONPATH": folder, **more}))


def test_explain_knows_a_flag_of_an_imported_library(folder: str) -> None:
    done = run(folder, "--import", "mylib", "explain", "mylib.ratio", MYLIB_RATIO="0.25")
    assert (done.code, done.stderr) == (0, "importing\n")
    assert done.stdout.startswith("mylib.ratio\n  How much.\n")
    for line in (
        "value           0.25",
        "set by          MYLIB_RATIO",
        "affects         the sampler in mylib",
    ):
        assert line in done.stdout
    assert "accepts         a float from 0.0 to 1.0" in done.stdout
    assert "variables read  once, when the flag is registered" in done.stdout


def test_explain_in_json_has_the_flag_of_an_imported_library(folder: str) -> None:
    done = run(folder, "explain", "mylib.verbose", "--json", "--import=mylib")
    flag = json.loads(done.stdout)["flag"]
    assert (flag["name"], flag["is_registered"], flag["variables"]) == (
        "mylib.verbose",
        True,
        ["MYLIB_VERBOSE"],
    )
    assert document("explain", "cudnn.enabled")["flag"]["is_registered"] is False


TYPED = PROGRAMS / "backends" / "typed.py"

MARKDOWN = """\
| flag | type | default | environment variable | meaning |
| --- | --- | --- | --- | --- |
| `typed.color` | `Color` | `'AUTO'` | `TYPED_COLOR` | When output is coloured. \
It accepts 'AUTO' or 'NEVER'. |
| `typed.paths` | `tuple[Path, ...]` | `('a',)` | `TYPED_PATHS` | Where files \\| folders are. \
It accepts a tuple or list of at most 1024 items, each a path of 1 to 65536 bytes, \
as a str or an object with __fspath__, checked by `is_short`. |

The environment variables are read once, when the flag is registered; later changes have no effect.
"""


def test_flags_of_a_library_are_a_table_in_markdown_and_json(folder: str) -> None:
    shutil.copy(TYPED, folder)
    done = run(folder, "flags", "typed", "--import", "typed", "--markdown", TYPED_PATHS="b:c")
    assert (done.code, done.stderr, done.stdout) == (0, "", MARKDOWN)
    done = run(
        folder, "flags", "typed", "--import", "typed", "--json", TYPED_PATHS="b:c", TYPED_COLOR="never"
    )
    color, paths = json.loads(done.stdout)["flags"]
    assert (color["value"], color["default"], color["type"]) == ("NEVER", "AUTO", "Color")
    assert (paths["value"], paths["level"], paths["set_by"]) == (["b", "c"], "environment", "TYPED_PATHS")
    assert (paths["validator"], paths["variables_read"]) == ("is_short", "when the flag is registered")
    done = run(folder, "flags", "--markdown", "--json")
    assert (done.code, done.stderr) == (
        2,
        "python -m interlock: flags: --markdown must not be given with --json\n",
    )
    every = run(folder, "flags", "--import", "typed", "--markdown").stdout
    assert "are read once, when interlock is imported" in every


ODD = """
from interlock import backends

backends.register("odd.limit", float("inf"), doc="The limit")
backends.register("odd.quote", "a`b|``c", doc="Quotes.", optional=True)
"""


def test_infinities_and_backticks_are_valid_json_and_markdown(folder: str) -> None:
    Path(folder, "odd.py").write_text(ODD)
    done = run(folder, "flags", "odd", "--import", "odd", "--json", ODD_LIMIT="-inf")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    limit, quote = json.loads(done.stdout, parse_constant=refuse)["flags"]
    assert (limit["value"], limit["default"], quote["default"]) == ("-inf", "inf", "a`b|``c")
    table = run(folder, "flags", "odd", "--import", "odd", "--markdown").stdout
    assert "| `inf` | `ODD_LIMIT` | The limit. It accepts a float" in table
    assert r"| ``` 'a`b\|``c' ``` |" in table


def test_flags_and_report_accept_several_modules(folder: str) -> None:
    several = ("--import", "mylib", "--import", "other")
    flags = json.loads(run(folder, "flags", *several, "--json").stdout)["flags"]
    assert [flag["name"] for flag in flags][-3:] == ["mylib.verbose", "mylib.ratio", "other.name"]
    of_one = json.loads(run(folder, "flags", "other", *several, "--json").stdout)["flags"]
    assert [(flag["name"], flag["value"]) for flag in of_one] == [("other.name", None)]
    report = json.loads(run(folder, *several, "--json", OTHER_NAME="x", MYLIB_VERBOS="1").stdout)
    assert [flag["name"] for flag in report["flags"]] == ["other.name"]
    reported = {variable["name"]: variable["problem"] for variable in report["environment"]}
    assert reported["OTHER_NAME"] is None
    refused = json.loads(run(folder, *several, "--json", MYLIB_VERBOSE="perhaps").stdout)["environment"]
    assert [row["problem"] for row in refused if row["name"] == "MYLIB_VERBOSE"] == [
        "ignored: mylib.verbose must be 0, 1, false or true, got 'perhaps'"
    ]
    assert "did you mean MYLIB_VERBOSE" in reported["MYLIB_VERBOS"]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("missing", "ModuleNotFoundError: No module named 'missing'"),
        ("broken", "ValueError: first line"),
        ("leaves", "SystemExit: 5"),
        ("wrong", "SyntaxError: "),
        ("", "ValueError: Empty module name"),
        (".mylib", "TypeError: "),
    ],
)
def test_unimportable_module_prints_one_line(folder: str, module: str, reason: str) -> None:
    done = run(folder, "flags", "--import", module)
    assert (done.code, done.stdout) == (3, "")
    assert done.stderr.startswith(
        f'python -m interlock: --import: module "{module}" cannot be imported: {reason}'
    )
    assert done.stderr.count("\n") == 1


def test_wrong_command_line_imports_nothing(folder: str) -> None:
    done = run(folder, "flags", "--import", "mylib", "--jsn")
    assert (done.code, done.stdout) == (2, "")
    assert "importing" not in done.stderr
    done = run(folder, "accelerators", "--import", "mylib")
    assert (done.code, done.stdout) == (2, "")
    assert 'accelerators has no option "--import"' in done.stderr


def test_suggestion_may_be_a_flag_of_an_imported_library(folder: str) -> None:
    done = run(folder, "explain", "mylib.verbos", "--import", "mylib")
    assert done.code == 2
    assert 'did you mean "explain mylib.verbose"?' in done.stderr


def test_help_lists_the_option_for_commands_that_show_flags() -> None:
    for command in ((), ("flags",), ("explain",)):
        assert "--import MODULE" in text(*command, "--help")
    assert "--import" not in text("accelerators", "--help")
