"""`python -m interlock` tells what is found, and with `--load` what each library answers."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.hardware.vendor.expected_packages import LIBRARIES
from tests.helpers.subprocess import run_command


def libraries(*options: str) -> dict[str, dict[str, Any]]:
    """Return what the report says of each library that has a package here."""
    done = run_command([sys.executable, "-P", "-m", "interlock", *options, "--json"])
    assert done.code == 0, done.stderr
    told = {library["name"]: library for library in json.loads(done.stdout)["libraries"]}
    return {name: told[name] for name in LIBRARIES}


def test_report_loads_no_library() -> None:
    for name, told in libraries().items():
        found = told["path"], told["source"], told["is_loaded"], told["version"], told["problem"]
        assert found == (str(LIBRARIES[name].file), "packages", False, None, None)


def test_report_with_load_loads_all_libraries() -> None:
    told = libraries("--load")
    assert all(library["is_loaded"] and library["problem"] is None for library in told.values())
    versions = {name: library["version"] for name, library in told.items()}
    assert versions == {name: packed.version() for name, packed in LIBRARIES.items()}
    # Another one brought along the runtime that the system has.
    del told["openmp"]
    assert {name: library["path"] for name, library in told.items()} == {
        name: str(LIBRARIES[name].file) for name in told
    }
