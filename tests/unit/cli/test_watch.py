"""`python -m interlock watch` runs a program as Python does, and reports the settings that it changed."""

from __future__ import annotations

import json
import py_compile
import re
import signal
import zipfile
from pathlib import Path
from typing import Any

import pytest
from interlock._cli.main import EXIT_SETTINGS_CHANGED

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import PROGRAMS, Result
from tests.helpers.torch_python import interpreter, run_with_torch
from tests.unit.cli.command import sections

FOLDER = PROGRAMS / "settings"
WATCHED = str(FOLDER / "watched.py")


def watch(folder: Path, *arguments: str, **env: str) -> Result:
    # pytest's workers set the variable.
    return run_with_torch(folder, "-m", "interlock", "watch", *arguments, env={"COLUMNS": ""} | env)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["thread"], 0),
        (["exit", "7", "--json", "-m"], 7),
        (["exit", "0"], 0),
        (["exit", "-1"], 255),
        (["exit-none"], 0),
        (["exit-text"], 1),
        (["exit-text-alone"], 1),
        (["replaced"], 0),
        (["detached"], 0),
        (["closed"], 0),
        (["fail"], 1),
        (["hook"], 1),
        (["interrupt"], -signal.SIGINT),
        (["pipe"], 0),
        (["warn"], 0),
        (["spawn"], 0),
        (["fork"], 0),
        (["source"], 0),
    ],
)
def test_watched_script_has_the_output_and_status_of_python(
    tmp_path: Path, arguments: list[str], code: int
) -> None:
    plain = run_with_torch(tmp_path, WATCHED, *arguments)
    watched = watch(tmp_path, WATCHED, *arguments)
    assert (plain.code, watched.code) == (code, code), watched.stderr
    assert watched.stdout == plain.stdout
    errors, _, report = watched.stderr.partition("\ninterlock watch\n")
    assert errors == plain.stderr
    assert report


@pytest.mark.parametrize(("name", "code"), [("broken.py", 1), ("missing.py", 2)])
def test_script_that_cannot_run_is_reported_as_by_python(tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    plain = run_with_torch(tmp_path, str(tmp_path / name))
    watched = watch(tmp_path, str(tmp_path / name))
    assert (plain.code, watched.code) == (code, code)
    # Python's text for a file that is missing begins with the path of the interpreter, too.
    assert watched.stderr.partition("\ninterlock watch\n")[0] == plain.stderr


def test_compiled_file_runs_and_builtins_are_a_module(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("__builtins__.profile = len\nprint(profile('abc'), __file__)\nraise SystemExit(44)\n")
    compiled = py_compile.compile(str(script), str(tmp_path / "script.pyc"))
    for file in (str(script), str(compiled)):
        watched = watch(tmp_path, file)
        assert (watched.code, watched.stdout) == (44, f"3 {file}\n"), watched.stderr


@pytest.mark.parametrize("module", [False, True])
def test_main_module_has_the_annotations_of_python(tmp_path: Path, module: bool) -> None:
    (tmp_path / "script.py").write_text("print(globals().get('__annotations__'))\n")
    arguments = ["-m", "script"] if module else [str(tmp_path / "script.py")]
    more = [str(tmp_path)]
    plain = run_in_folder(tmp_path, more, *arguments)
    watched = run_in_folder(tmp_path, more, "-m", "interlock", "watch", *arguments)
    assert (plain.code, watched.code) == (0, 0), watched.stderr
    assert watched.stdout == plain.stdout


@pytest.mark.parametrize("name", ["program", "program.zip", "empty"])
def test_directory_or_zip_file_runs_as_by_python(tmp_path: Path, name: str) -> None:
    source = "import sys, beside\nprint(sys.argv, sys.path[0], __file__, __package__, __spec__.name)\n"
    (tmp_path / "empty").mkdir()
    (tmp_path / "program").mkdir()
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        for file, text in (("__main__.py", source), ("beside.py", "")):
            (tmp_path / "program" / file).write_text(text)
            archive.writestr(file, text)
    plain = run_with_torch(tmp_path, str(tmp_path / name), "a")
    watched = watch(tmp_path, str(tmp_path / name), "a")
    assert (watched.code, watched.stdout) == (plain.code, plain.stdout)
    assert watched.code == int(name == "empty")
    assert watched.stderr.partition("\ninterlock watch\n")[0] == plain.stderr


@pytest.mark.parametrize("name", ["watched_package", "watched_package.__main__"])
def test_watched_module_sees_what_python_shows_it(tmp_path: Path, name: str) -> None:
    more = [str(FOLDER)]
    plain = run_in_folder(tmp_path, more, "-m", name, "a", "-b")
    watched = run_in_folder(tmp_path, more, "-m", "interlock", "watch", "-m", name, "a", "-b")
    assert (plain.code, watched.code) == (0, 0), watched.stderr
    assert watched.stdout == plain.stdout


def test_missing_module_is_reported(tmp_path: Path) -> None:
    watched = watch(tmp_path, "-m", "no_such_module_at_all")
    assert watched.code == 1
    assert "No module named no_such_module_at_all" in watched.stderr
    # Nothing ran that could be reported.
    assert "interlock watch" not in watched.stderr


def run_in_folder(folder: Path, more: list[str], *arguments: str) -> Result:
    """Run Python with further folders on the path of modules."""
    code = f"import sys; sys.path[1:1] = {more!r}"
    (folder / "sitecustomize.py").write_text(code + "\n")
    _, variables = interpreter(folder)
    path = f"{folder}:{variables['PYTHONPATH']}"
    return run_with_torch(folder, *arguments, env={"PYTHONPATH": path})


def document(folder: Path, *arguments: str) -> tuple[Result, Any]:
    file = folder / "found.json"
    done = watch(folder, "--json", str(file), *arguments)
    return done, json.loads(file.read_text())


def test_writes_at_import_and_later_are_reported_with_line_and_thread(tmp_path: Path) -> None:
    done, found = document(tmp_path, WATCHED, "thread")
    assert done.code == 0
    changes = {each["setting"]: each for each in found["changes"] if each["before"] != each["after"]}
    late, benchmark = changes["torch.num_threads"], changes["torch.backends.cudnn.benchmark"]
    assert (benchmark["before"], benchmark["after"], benchmark["at_import"]) == (False, True, True)
    assert benchmark["file"] == str(FOLDER / "flags_at_import_later.py")
    assert (late["line"], late["function"], late["thread"], late["at_import"]) == (20, "work", "late", False)
    assert changes["torch.backends.cuda.matmul.allow_tf32"]["function"] == "<module>"
    variable = changes["environ.OMP_NUM_THREADS"]
    assert (variable["before"], variable["after"]) == (None, "1")
    assert re.match("too late: torch", variable["problem"])
    # PyTorch does not read this one.
    assert changes["environ.NUMEXPR_MAX_THREADS"]["problem"] is None
    left = {each["setting"]: (each["before"], each["after"]) for each in found["settings"]}
    assert left["torch.grad_enabled"] == (True, False)
    assert left["torch.backends.cudnn.benchmark"] == (False, True)
    assert (found["format"], found["status"]) == (1, 0)


def test_table_for_people_has_the_changes_and_the_values_at_the_end(tmp_path: Path) -> None:
    done = watch(tmp_path, WATCHED, "scope")
    report = sections(done.stderr.partition("\ninterlock watch\n")[2])
    written = report["Settings that the program changed"]
    assert written[0] == ["setting", "before", "after", "by", "when"]
    place = f"{FOLDER / 'flags_at_import_later.py'}:7"
    assert [
        "torch.backends.cudnn.benchmark",
        "False",
        "True",
        place,
        "at import",
    ] in written
    enabled = [row[1:3] for row in written if row[0] == "torch.backends.cudnn.enabled"]
    assert enabled == [["True", "False"], ["False", "True"]]
    end = report["Settings that differ at the end"]
    assert ["torch.backends.cudnn.benchmark", "False", "True"] in end
    assert "torch.backends.cudnn.enabled" not in [row[0] for row in end]


def test_table_names_packages_and_threads_that_wrote(tmp_path: Path) -> None:
    package = tmp_path / "fastlib-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fastlib\nVersion: 1.0\n")
    (package / "RECORD").write_text("fastlib.py,,\n")
    (tmp_path / "fastlib.py").write_text("import os\ndef set():\n    os.environ['OMP_NUM_THREADS'] = '3'\n")
    program = "import fastlib, threading\nthreads = [threading.Thread(target=fastlib.set, name='worker')]\n"
    (tmp_path / "program.py").write_text(f"{program}threads[0].start(); threads[0].join()\n")
    done = watch(tmp_path, str(tmp_path / "program.py"), PYTHONPATH=str(tmp_path), OMP_NUM_THREADS="1")
    written = sections(done.stderr.partition("\ninterlock watch\n")[2])["Settings that the program changed"]
    assert written[0] == ["setting", "before", "after", "by", "when", "package", "thread"]
    assert written[1][-3:] == ["later", "fastlib", "worker"]


def test_writes_of_a_thread_that_another_one_starts_late_are_reported(tmp_path: Path) -> None:
    done = watch(tmp_path, str(FOLDER / "late_thread.py"), OMP_NUM_THREADS="1")
    assert "started late" in done.stderr


def test_program_that_changes_nothing_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text("print('done')\n")
    done = watch(tmp_path, "--fail", str(tmp_path / "nothing.py"))
    assert (done.code, done.stdout) == (0, "done\n")
    assert "No setting was changed." in done.stderr
    assert "All settings are as they were." in done.stderr


def test_mode_of_a_thread_that_differs_at_the_end_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mode.py").write_text("import torch\ntorch._C._set_grad_enabled(False)\n")
    done = watch(tmp_path, "--fail", str(tmp_path / "mode.py"))
    assert done.code == EXIT_SETTINGS_CHANGED
    assert "No write was recorded: modes of a thread are compared at the end only." in done.stderr
    assert "torch.grad_enabled" in done.stderr


def test_fail_changes_the_status_of_a_successful_program_only(tmp_path: Path) -> None:
    assert watch(tmp_path, "--fail", WATCHED, "scope").code == EXIT_SETTINGS_CHANGED
    assert watch(tmp_path, "--fail", WATCHED, "exit", "7").code == 7


def test_no_write_of_a_loop_hides_an_earlier_one(tmp_path: Path) -> None:
    lines = [
        "import os",
        "def change(value): os.environ['OMP_NUM_THREADS'] = value",
        "os.environ['OMP_NUM_THREADS'] = '5'",
        "os.environb[b'OMP_NUM_THREADS'] = b'1'",
        "for _ in range(1500): change('2'); change('1')",
    ]
    (tmp_path / "program.py").write_text("\n".join(lines))
    options = ["--fail", "--allow", "environ.OMP_NUM_THREADS=2", str(tmp_path / "program.py")]
    file = tmp_path / "found.json"
    done = watch(tmp_path, "--json", str(file), *options, OMP_NUM_THREADS="1")
    assert done.code == EXIT_SETTINGS_CHANGED
    changes = json.loads(file.read_text())["changes"]
    found = [(each["before"], each["after"], each["line"], each["times"]) for each in changes]
    assert found == [("1", "5", 3, 1), ("5", "1", 4, 1), ("1", "2", 2, 1500), ("2", "1", 2, 1500)]


TWO_CHANGES = """
import os, torch
os.environ["OMP_NUM_THREADS"] = "3"
with torch.backends.cudnn.flags(enabled=False): pass
"""


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        (["environ.OMP_NUM_THREADS", "torch.backends.cudnn.enabled"], 0),
        (["environ.*", "torch.backends.cudnn.*"], 0),
        (["*"], 0),
        # The scope restores the value that the setting had before.
        (["environ.OMP_NUM_THREADS=3", "torch.backends.cudnn.enabled=False"], 0),
        (["environ.OMP_NUM_THREADS='3'", "torch.backends.cudnn.*=False"], 0),
        (["environ.OMP_NUM_THREADS=4", "torch.backends.cudnn.enabled"], EXIT_SETTINGS_CHANGED),
        (["environ.OMP_NUM_THREADS"], EXIT_SETTINGS_CHANGED),
        (["torch.backends.cudnn.enabled"], EXIT_SETTINGS_CHANGED),
        (["environ", "torch"], EXIT_SETTINGS_CHANGED),
        (["environ.OMP_NUM_THREADS", "torch.backends.cudnn.enabled=True"], EXIT_SETTINGS_CHANGED),
    ],
    ids=stable_repr,
)
def test_fail_accepts_the_changes_that_are_allowed(tmp_path: Path, allowed: list[str], code: int) -> None:
    (tmp_path / "program.py").write_text(TWO_CHANGES)
    options = [option for each in allowed for option in ("--allow", each)]
    done = watch(tmp_path, "--fail", *options, str(tmp_path / "program.py"), OMP_NUM_THREADS="1")
    assert done.code == code, done.stderr


def test_allowed_changes_are_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TWO_CHANGES)
    options = ["--fail", "--allow=environ.*=3", "--allow", "numpy.*", "--allow=torch.num_threads=1"]
    done, found = document(tmp_path, *options, str(tmp_path / "program.py"))
    assert done.code == EXIT_SETTINGS_CHANGED
    allowed = {each["setting"]: each["allowed"] for each in found["changes"]}
    assert allowed["environ.OMP_NUM_THREADS"]
    assert not allowed["torch.backends.cudnn.enabled"]
    left = {each["setting"]: each["allowed"] for each in found["settings"]}
    assert left["environ.OMP_NUM_THREADS"]
    report = done.stderr.partition("Settings that the program changed")[2]
    written = report.partition("Settings that differ at the end")[0].splitlines()
    place = next(number for number, line in enumerate(written) if "environ.OMP_NUM_THREADS" in line)
    assert written[place + 1].strip() == "allowed"
    # An option that is not needed any more.
    unused = report.partition("Options --allow without a change")[2].split()
    assert unused == ["numpy.*", "torch.num_threads=1"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "watch: a script or -m module is missing; usage: python -m interlock watch [--json FILE]"),
        (["--jsn", "x"], 'watch has no option "--jsn"; did you mean "--json"?'),
        (["--alow=x", "y"], 'watch has no option "--alow"; did you mean "--allow"?'),
        (["--zzz"], 'watch has no option "--zzz"; usage: '),
        (["--json"], "watch: --json must be followed by a file"),
        (["-m"], "watch: -m must be followed by a module"),
        (["--fail", "--allow"], "watch: --allow must be followed by NAME or NAME=VALUE; usage: "),
        (["--allow", "--fail"], "watch: --allow must be followed by NAME or NAME=VALUE"),
        (["--fail", "--allow==1", WATCHED], "watch: --allow must be followed by NAME or NAME=VALUE"),
        (
            ["--allow", "torch.*", WATCHED],
            "watch: --allow must be given with --fail, whose changes it accepts",
        ),
    ],
)
def test_invalid_command_lines_are_refused(tmp_path: Path, arguments: list[str], text: str) -> None:
    done = watch(tmp_path, *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert text in done.stderr


def test_file_that_cannot_be_written_is_reported_before_the_program_runs(tmp_path: Path) -> None:
    done = watch(tmp_path, "--json", str(tmp_path / "missing" / "file"), WATCHED, "thread")
    assert (done.code, done.stdout) == (1, "")
    assert "cannot write" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["train.py", "train.py"], ["link.py", "train.py"], ["train.py", "-m", "train"]]
)
def test_json_does_not_replace_a_program(tmp_path: Path, arguments: list[str]) -> None:
    source = "import sys; print('work'); sys.exit(3)\n"
    (tmp_path / "train.py").write_text(source)
    (tmp_path / "link.py").symlink_to(tmp_path / "train.py")
    names = [name if "." not in name else str(tmp_path / name) for name in arguments]
    done = watch(tmp_path, "--json", *names)
    assert (done.code, done.stdout) == (2, "")
    assert "watch: --json must name a new file, or one that it has written before" in done.stderr
    assert (tmp_path / "train.py").read_text() == source


def test_json_replaces_the_document_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text("")
    _, first = document(tmp_path, str(tmp_path / "nothing.py"))
    _, second = document(tmp_path, str(tmp_path / "nothing.py"))
    assert first == second
    assert watch(tmp_path, "--json", "/dev/null", str(tmp_path / "nothing.py")).code == 0


def test_file_that_cannot_be_written_at_the_end_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "removes.py"
    script.write_text("import shutil, sys\nshutil.rmtree(sys.argv[1])\nsys.exit(int(sys.argv[2]))")
    for status, code in ((0, 1), (7, 7)):
        folder = tmp_path / "folder"
        folder.mkdir()
        done = watch(tmp_path, "--json", str(folder / "file"), str(script), str(folder), str(status))
        assert done.code == code, done.stderr
        assert "cannot write" in done.stderr
        assert "Traceback" not in done.stderr


def test_help_describes_the_options(tmp_path: Path) -> None:
    done = watch(tmp_path, "--help")
    assert done.code == 0
    options = {"--json FILE", "--fail", "--allow NAME[=VALUE]", "-m MODULE"}
    assert options <= set(re.findall(r"--json FILE|--fail|--allow NAME\[=VALUE\]|-m MODULE", done.stdout))
    done = run_with_torch(tmp_path, "-m", "interlock", "--json", "watch", WATCHED)
    assert (done.code, "watch must be the first argument" in done.stderr) == (2, True)


@pytest.mark.skipif("config.getoption('--torch') != 'fake'", reason="the other interpreter has no pytest")
def test_run_of_pytest_is_watched(tmp_path: Path) -> None:
    test = "import torch\n\ndef test_leak():\n    torch.backends.cudnn.benchmark = True\n"
    (tmp_path / "test_leak.py").write_text(test)
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done, found = document(tmp_path, *options)
    assert (done.code, "1 passed" in done.stdout) == (0, True), done.stdout
    (leak,) = (each for each in found["settings"] if each["setting"].startswith("torch."))
    assert (leak["setting"], leak["after"]) == ("torch.backends.cudnn.benchmark", True)
    change = next(each for each in found["changes"] if each["setting"] == leak["setting"])
    assert (change["function"], change["line"], change["at_import"]) == ("test_leak", 4, False)
