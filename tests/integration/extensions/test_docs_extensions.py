"""The module of the page about extensions is built as the page says, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.extensions import ROOT, build, environment_with
from tests.helpers.subprocess import run_command

PAGE = ROOT / "docs" / "extensions.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|/\*) ([\w.]+)(?: \*/)?\n")


MODULES = ["meter", "product", "ramp"]

# For some modules: code with a mistake, a variable of the environment, and what the program prints to stderr.
MISTAKES = {
    "ramp": ("import ramp; ramp.fill(3)", {}, "AttributeError: 'int' object has no attribute '__dlpack__'"),
    "meter": ("import meter", {"METER_LEVEL": "many"}, "RuntimeWarning: METER_LEVEL is ignored: "),
}


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_module_of_the_page_prints_what_the_page_shows(module: str, tmp_path: Path) -> None:
    project = tmp_path / module
    project.mkdir()
    blocks = BLOCK.findall(PAGE.read_text())
    files = {found[1]: text for _, text in blocks if (found := FILE.match(text))}
    shared = {"pyproject.toml", "setup.py"}
    own = {name for one in MODULES for name in (f"{one}.c", f"use_{one}.py")}
    assert set(files) == shared | own
    for name in (*shared, f"{module}.c", f"use_{module}.py"):
        # The page says that the other modules have the same files, with their own names.
        text = files[name].replace("meter", module) if name in shared else files[name]
        (project / name).write_text(text)
    consoles = [text.partition("\n") for language, text in blocks if language == "console"]
    (printed,) = [output for command, _, output in consoles if command == f"$ python use_{module}.py"]
    assert len(consoles) == len(MODULES)
    (tmp_path / "build").mkdir()
    wheel = build(project, tmp_path / "build")
    python = environment_with([wheel], tmp_path / "environment")
    done = run_command([str(python), str(project / f"use_{module}.py")])
    assert (done.code, done.stdout, done.stderr) == (0, printed, "")
    if module in MISTAKES:
        code, variables, message = MISTAKES[module]
        done = run_command([str(python), "-c", code], env=variables)
        assert (done.code, message in done.stderr) == (int("Error" in message), True), done.stderr
