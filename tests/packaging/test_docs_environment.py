"""docs/environment.md lists every environment variable that the sources name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from interlock._core import backends

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environment.md").read_text()
LISTED = set(re.findall(r"^\| `([A-Z0-9_]+)`", PAGE, re.MULTILINE))

# Literals that look like variables, with what they are.
NO_VARIABLES = {
    "CALL_FOR_CALLERS": "a constant of the extension module",
    "CARGO_PKG_VERSION": "set by Cargo, and read when the crate is compiled",
    "DYLD_LIBRARY_PATH": "the name of LD_LIBRARY_PATH on macOS, which that row names",
    "INTERLOCK_": "the prefix",
    "INTERLOCK_VALUE_UNSET": "a constant of the C header",
    "NCCL_DEBUG": "in an example of a docstring",
    "OPENBLAS_NUM_THREADS": "set for worker processes, and read by OpenBLAS only",
    "VERBOSE_OFF": "a level of a vendor library",
    "VERBOSE_ON": "a level of a vendor library",
    "VERBOSE_ON_CREATION": "a level of a vendor library",
}
# The variables of other libraries, which interlock shows but does not read.
OF_PYTEST = ROOT / "python" / "interlock" / "_pytest" / "environment.py"
OF_OTHER_LIBRARIES = ROOT / "python" / "interlock" / "settings" / "_environ.py"
NAME = re.compile(r'(?<![a-z])"([A-Z][A-Z0-9]*_[A-Z0-9_]*)"')
# A name without an underscore is recognized by the call that reads it.
READ = re.compile(r'environ(?:ment)?(?:\.get\(|\[)"([A-Z]+)"')


def named_in_rust() -> set[str]:
    """Return the names in the sources of the crates, without their tests and documentation."""
    found: set[str] = set()
    for path in (ROOT / "rust").glob("*/src/**/*.rs"):
        source = path.read_text().split("#[cfg(test)]")[0]
        code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("//"))
        if "tests" not in path.parts and path.name != "tests.rs":
            found.update(NAME.findall(code))
    return found


def named_in_python() -> set[str]:
    """Return the names in the Python package, without `__all__` and the attributes of modules."""
    found: set[str] = set()
    for path in {*(ROOT / "python").glob("**/*.py")} - {OF_OTHER_LIBRARIES, OF_PYTEST}:
        source = re.sub(r"__all__ = \[.*?\]", "", path.read_text(), flags=re.DOTALL)
        found.update(NAME.findall(source), READ.findall(source))
    return found


@pytest.mark.parametrize("named", [named_in_rust, named_in_python])
def test_every_variable_in_the_sources_is_listed(named: Callable[[], set[str]]) -> None:
    names = named()
    assert names & LISTED
    assert sorted(names - LISTED - NO_VARIABLES.keys()) == []


def test_variables_of_other_libraries_are_listed_on_the_page_of_settings() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    names = set(NAME.findall(OF_OTHER_LIBRARIES.read_text()))
    assert "OMP_NUM_THREADS" in names
    assert sorted(name for name in names if f"`{name}`" not in page) == []


def test_every_variable_that_the_core_reads_is_listed() -> None:
    read = {name.replace("DYLD_", "LD_") for name in backends.environment_variables()}
    assert sorted(read - LISTED) == []
