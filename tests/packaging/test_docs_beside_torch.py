"""The table of docs/beside_torch.md has the packages and versions that `make watch-packages` runs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_command

pytestmark = pytest.mark.any_build
ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "beside_torch.md").read_text().partition("<!-- <")[2].partition("<!-- </")[0]


def evaluated(expression: str, *arguments: str) -> object:
    """Return the value of an expression in tools/watch_packages.py."""
    code = (
        f"import json, os, sys; sys.path.insert(0, {str(ROOT / 'tools')!r})\nimport watch_packages as tool\n"
    )
    done = run_command([sys.executable, "-P", "-c", f"{code}print(json.dumps({expression}))", *arguments])
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def test_table_has_each_program_with_its_pinned_version() -> None:
    listed = dict(re.findall(r"^\| ([\w-]+) (\d[\w.]*) \|", TABLE, re.MULTILINE))
    versions = evaluated("{name: tool.pinned()[name] for name in tool.PROGRAMS}")
    assert listed == versions
    assert len(listed) >= 10


def test_readme_counts_the_packages_that_change_something() -> None:
    names = re.findall(r"^\| ([\w-]+) \d", TABLE, re.MULTILINE)
    idle = re.findall(r"^\| [\w-]+ \d\S* \| nothing", TABLE, re.MULTILINE)
    words = {10: "ten", 12: "twelve", 13: "thirteen", 15: "fifteen"}
    sentence = (
        f"Of {words[len(names)]} popular packages, [{words[len(names) - len(idle)]} change such a setting]"
    )
    assert sentence in (ROOT / "README.md").read_text()


def test_row_names_values_line_and_the_package_that_wrote() -> None:
    change = {"setting": "torch.warn_always", "before": False, "after": True, "at_import": True, "line": 7}
    change |= {"file": "/env/lib/site-packages/other/part.py", "distribution": "other-dist"}
    same = change | {"before": True}
    # Whether this write changes the value depends on the machine.
    threads = change | {"setting": "torch.num_threads", "before": 1, "after": 1}
    document = {"changes": [change, same, threads], "settings": [{"setting": "torch.warn_always"}]}
    rows = "list(tool.rows(tool.Watched('one', '1.0', json.loads(sys.argv[1]))))"
    cores, place = "depends on the cores", "`other/part.py:7` of other-dist"
    assert evaluated(rows, json.dumps(document)) == [
        ["one 1.0", "`torch.warn_always`", "`False`", "`True`", "import", place, "yes"],
        ["", "`torch.num_threads`", cores, cores, "import", place, "yes"],
    ]
    assert evaluated(rows, json.dumps({"changes": [same], "settings": []}))[0][:2] == ["one 1.0", "nothing"]  # type: ignore[index]


def test_interpreter_without_the_versions_is_refused() -> None:
    done = run_command([sys.executable, str(ROOT / "tools" / "watch_packages.py"), sys.executable])
    assert done.code == 1
    assert re.search(r"has accelerate None instead of \d\S+, ", done.stderr)


def test_program_is_watched_with_the_interpreter_of_a_relative_path() -> None:
    program = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n"
    python = os.path.relpath(sys.executable, ROOT)
    run = "(tool.PROGRAMS.update(one=sys.argv[1]), os.chdir(tool.ROOT), tool.watch(sys.argv[2], 'one', '1'))"
    _, _, (package, version, document) = evaluated(f"[*{run}]", program, python)  # type: ignore[misc]
    assert (package, version, document["status"]) == ("one", "1", 0)
    change = next(each for each in document["changes"] if each["setting"] == "environ.OMP_NUM_THREADS")
    assert (change["before"], change["after"], change["line"]) == (None, "1", 2)
