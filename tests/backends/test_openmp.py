"""The OpenMP runtimes of a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from interlock.backends import openmp

from tests import child
from tests.backends import stand_in

HIDE = "import sys\nsys.modules['threadpoolctl'] = None\n"


def test_the_runtimes_are_a_list_and_asking_loads_none() -> None:
    code = """
        from interlock.backends import openmp
        answer = [openmp.is_available() in (True, False), openmp.runtimes()]
    """
    assert child.value(code, env=stand_in.environment()) == [True, []]
    assert child.value(HIDE + "from interlock.backends import openmp\nanswer = openmp.runtimes()") == []
    assert all(isinstance(each, openmp.Runtime) for each in openmp.runtimes())


@stand_in.NEEDS_COMPILER
@pytest.mark.parametrize("hidden", [False, True], ids=["with threadpoolctl", "without"])
def test_every_runtime_that_is_loaded_is_told_with_its_limit(hidden: bool, tmp_path: Path) -> None:
    gnu = stand_in.build(tmp_path, "libgomp.so.1", stand_in.OPENMP % 7)
    intel = stand_in.build(tmp_path, "libiomp5.so", stand_in.OPENMP % 3)
    code = f"""
import ctypes
from interlock.backends import openmp
before = openmp.runtimes()
for path in ({str(gnu)!r}, {str(intel)!r}):
    ctypes.CDLL(path)
answer = [before, sorted(openmp.runtimes())]
"""
    before, after = child.value((HIDE if hidden else "") + code, env=stand_in.environment())
    assert before == []
    assert after == [["libgomp", str(gnu), None, 7], ["libiomp", str(intel), None, 3]]
