"""The extension module declares that it uses the GIL, and is not imported into an interpreter without one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.helpers.subprocess import eval_python

ROOT = Path(__file__).parents[2]
IMPORT = """
import sys
# As in a free-threaded build, since CPython 3.13.
sys._is_gil_enabled = lambda: {enabled}
try:
    import interlock
    result = None
except ImportError as error:
    result = str(error)
"""


def test_import_without_the_gil_is_refused_with_the_cure() -> None:
    message = eval_python(IMPORT.format(enabled=False))
    assert message.startswith("interlock needs the GIL, which PYTHON_GIL=0 or -X gil=0 disables")
    assert message.endswith("remove the setting, or use a build with the GIL")


def test_import_with_the_gil_of_a_free_threaded_build_is_accepted() -> None:
    assert eval_python(IMPORT.format(enabled=True)) is None


def test_module_declares_that_it_uses_the_gil() -> None:
    # An abi3 module has no slot for it, so the declaration can be read only in the source.
    source = (ROOT / "rust/python/src/lib.rs").read_text(encoding="utf-8")
    assert re.findall(r"gil_used = (\w+)", source) == ["true"]
