"""The extension module declares that it uses the GIL, and is not imported into an interpreter without one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.helpers.subprocess import run_python

ROOT = Path(__file__).parents[2]
# As in a free-threaded build, since CPython 3.13.
SET_GIL = "import sys; sys._is_gil_enabled = lambda: {enabled}\n"


def test_import_without_the_gil_is_refused_with_the_cure() -> None:
    done = run_python(SET_GIL.format(enabled=False) + "import interlock")
    assert done.code == 1
    error = done.stderr.splitlines()[-1]
    assert error.startswith("ImportError: interlock needs the GIL, which PYTHON_GIL=0 or -X gil=0 disables")
    assert error.endswith("remove the setting, or use a build with the GIL")


def test_import_with_the_gil_of_a_free_threaded_build_is_accepted() -> None:
    done = run_python(SET_GIL.format(enabled=True) + "import interlock")
    assert (done.code, done.stderr) == (0, "")


def test_module_declares_that_it_uses_the_gil() -> None:
    # An abi3 module has no slot for it, so the declaration can be read only in the source.
    source = (ROOT / "rust/python/src/lib.rs").read_text(encoding="utf-8")
    assert re.findall(r"gil_used = (\w+)", source) == ["true"]
