"""`python -m interlock` reports the libraries that are found, and with `--load` their versions."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.hardware.vendor.expected_packages import LIBRARIES
from tests.helpers.subprocess import run_command


def libraries(*options: str) -> dict[str, dict[str, Any]]:
    """Return the report's entry for each library that has a package here."""
    done = run_command([sys.executable, "-P", "-m", "interlock", *options, "--json"])
    assert done.code == 0, done.stderr
    entry = {library["name"]: library for library in json.loads(done.stdout)["libraries"]}
    return {name: entry[name] for name in LIBRARIES}


def test_report_loads_no_library() -> None:
    for name, entry in libraries().items():
        found = entry["path"], entry["source"], entry["is_loaded"], entry["version"], entry["problem"]
        assert found == (str(LIBRARIES[name].file), "packages", False, None, None)


def test_report_with_load_loads_all_libraries() -> None:
    entry = libraries("--load")
    assert all(library["is_loaded"] and library["problem"] is None for library in entry.values())
    versions = {name: library["version"] for name, library in entry.items()}
    assert versions == {name: packed.version() for name, packed in LIBRARIES.items()}
    # Another library loaded the runtime of the system.
    del entry["openmp"]
    assert {name: library["path"] for name, library in entry.items()} == {
        name: str(LIBRARIES[name].file) for name in entry
    }
