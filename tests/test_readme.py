"""The examples of the README and of the docstrings run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import types
from pathlib import Path

import interlock
import pytest

from tests import child

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def public_modules() -> list[str]:
    """Every importable module of the package whose name has no private part."""
    names = [interlock.__name__]
    for found in pkgutil.walk_packages(interlock.__path__, "interlock."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            names.append(found.name)
    return names


def examples_of(module: types.ModuleType) -> list[doctest.DocTest]:
    return [each for each in doctest.DocTestFinder().find(module) if each.examples]


def test_the_readme_has_examples() -> None:
    assert BLOCKS


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_of_the_readme_runs(number: int) -> None:
    done = child.run(BLOCKS[number], options=["-W", "error"])
    assert done.code == 0, f"{BLOCKS[number]}\n{done.stderr}"
    assert done.stderr == ""


EXAMPLES = [example for name in public_modules() for example in examples_of(importlib.import_module(name))]


def test_some_docstrings_have_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@pytest.mark.usefixtures("restored")
def test_an_example_of_a_docstring_shows_what_happens(example: doctest.DocTest) -> None:
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(report)
