"""The commands of docs/settings.md, docs/beside_torch.md and README.md print what the pages show."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.torch_python import is_real, run_with_torch

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "settings.md").read_text()
PAGES = PAGE + (DOCS / "beside_torch.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE))
# The README shows only what is printed; its program uses the module of docs/beside_torch.md.
README = (DOCS.parent / "README.md").read_text()
README_PROGRAM = "from detector import Detector\n\nDetector(640)\n"
CONSOLE = re.compile(r"^```console\n\$ python (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = CONSOLE.findall(PAGES)
FOLDER = "/home/ada/project"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        # The first line is the name.
        (tmp_path / name).write_text(f"# {name}\n{text}")
    return tmp_path


# They use more of PyTorch than the fake has.
NEED_TORCH = {"exact.py"}


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_command_of_the_page_prints_the_text_below_it(folder: Path, command: str, printed: str) -> None:
    if command in NEED_TORCH and not is_real():
        pytest.skip("needs --torch=PYTHON")
    assert printed_by(folder, command) == without_widths(printed)


def test_command_of_the_readme_prints_the_text_below_it(folder: Path) -> None:
    ((command, printed),) = CONSOLE.findall(README)
    (folder / "train.py").write_text(README_PROGRAM)
    assert printed_by(folder, command) == without_widths(printed)


def printed_by(folder: Path, command: str) -> str:
    arguments = shlex.split(command)
    # Commands run in another folder than that of the programs.
    arguments[-1] = str(folder / arguments[-1])
    done = run_with_torch(folder, *arguments, env={"COLUMNS": ""})
    assert done.code == 0, done.stderr
    return without_widths((done.stdout + done.stderr).replace(str(folder), FOLDER))


def without_widths(table: str) -> str:
    # The widths of columns depend on the folder.
    return re.sub(" +", " ", table)


def test_keys_of_the_page_are_those_of_the_document(folder: Path) -> None:
    file = folder / "found.json"
    done = run_with_torch(folder, "-m", "interlock", "watch", "--json", str(file), str(folder / "train.py"))
    assert done.code == 0, done.stderr
    found = json.loads(file.read_text())
    keys = {f"{name}[].{key}" for name in ("changes", "settings") for key in found[name][0]}
    lines = PAGE.partition("## JSON of watch")[2].splitlines()
    rows = "".join(line for line in lines if line.startswith("|"))
    assert set(re.findall(r"`((?:changes|settings)\[\]\.\w+)`", rows)) == keys
    assert sorted(found) == ["changes", "format", "settings", "status"]
