"""The module of the page about extensions is built as the page says, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

from tests.helpers.extensions import ROOT, build, environment_with
from tests.helpers.subprocess import run_command

PAGE = ROOT / "docs" / "extensions.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|/\*) ([\w.]+)(?: \*/)?\n")


def test_module_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    project = tmp_path / "meter"
    project.mkdir()
    blocks = BLOCK.findall(PAGE.read_text())
    files = {found[1]: text for _, text in blocks if (found := FILE.match(text))}
    assert set(files) == {"pyproject.toml", "setup.py", "meter.c", "use_meter.py"}
    for name, text in files.items():
        (project / name).write_text(text)
    ((_, console),) = [block for block in blocks if block[0] == "console"]
    command, _, printed = console.partition("\n")
    assert command == "$ python use_meter.py"
    (tmp_path / "build").mkdir()
    wheel = build(project, tmp_path / "build")
    python = environment_with([wheel], tmp_path / "environment")
    done = run_command([str(python), str(project / "use_meter.py")])
    assert (done.code, done.stdout, done.stderr) == (0, printed, "")
