"""The examples of the README, of docs/ and of the docstrings run and print their output."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import types
from pathlib import Path

import interlock
import pytest

from tests.helpers.subprocess import eval_program, run_python

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    f"{page.name} {number}": block
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    )
}
# Its packages are larger than all other test dependencies; the page says that it is not tested.
NOT_INSTALLED = ("import ray\n",)


def modules() -> list[str]:
    """Return every importable module of the package, without the extension module."""
    found = [each.name for each in pkgutil.walk_packages(interlock.__path__, "interlock.")]
    return [interlock.__name__, *(name for name in found if not name.startswith("interlock._core"))]


def examples_of(module: types.ModuleType) -> list[doctest.DocTest]:
    # Some names of a module are imported lazily.
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
    return [each for each in doctest.DocTestFinder().find(module) if each.examples]


def test_pages_have_examples() -> None:
    assert {name.split()[0] for name in BLOCKS} >= {"README.md", "processes.md"}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
def test_example_of_a_page_runs(block: str, tmp_path: Path) -> None:
    if block.startswith(NOT_INSTALLED):
        compile(block, "example", "exec")
        return
    folders = {"DASK_CONFIG": str(tmp_path), "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    done = run_python(block, env=folders, options=["-W", "error"])
    assert done.code == 0, f"{block}\n{done.stderr}"
    assert done.stderr == ""


EXAMPLES = [example for name in modules() for example in examples_of(importlib.import_module(name))]

# In a child process: an example may select a driver, which is fixed at first use.


def test_some_docstrings_have_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_of_a_docstring_prints_its_output(example: doctest.DocTest) -> None:
    module = example.globs["__name__"]
    attempted, failed, report = eval_program("integration/examples_run_one.py", module, example.name)
    assert attempted > 0
    assert failed == 0, report
