"""The programs and commands of docs/beside_numpy_and_jax.md print what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.jax_python import run_with_jax

PAGE = (Path(__file__).parents[3] / "docs" / "beside_numpy_and_jax.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = re.findall(r"^```console\n\$ python (.*?)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FOLDER = "/home/ada/project"
# With it set, JAX does not write it at its import. The fake never does.
ENVIRONMENT = {"COLUMNS": "", "JAX_PLATFORMS": "", "TF_CPP_MIN_LOG_LEVEL": "1"}


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_command_of_the_page_prints_the_text_below_it(tmp_path: Path, command: str, printed: str) -> None:
    for name, text in FILES.items():
        # The first line is the name.
        (tmp_path / name).write_text(f"# {name}\n{text}")
    arguments = shlex.split(command)
    # Commands run in another folder than that of the programs.
    arguments[-1] = str(tmp_path / arguments[-1])
    done = run_with_jax(tmp_path, *arguments, env=ENVIRONMENT)
    assert done.code == 0, done.stderr
    # The widths of columns depend on the folder.
    found = (done.stdout + done.stderr).replace(str(tmp_path), FOLDER)
    assert re.sub(" +", " ", found) == re.sub(" +", " ", printed)
    assert len(COMMANDS) >= 5
