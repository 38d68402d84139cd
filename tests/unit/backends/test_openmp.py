"""The OpenMP runtimes of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program, eval_python, run_program

#: A fake MKL for threadpoolctl, which prints its calls.
MKL = (
    fake_libraries.MKL
    + """
int MKL_Get_Max_Threads(void) { puts("called"); fflush(stdout); return 1; }
int MKL_Set_Num_Threads_Local(int count) { puts("called"); fflush(stdout); return count; }
int MKL_Set_Threading_Layer(int layer) { puts("called"); fflush(stdout); return 1; }
"""
)
HIDE = "import sys\nsys.modules['threadpoolctl'] = None\n"


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("before", ["", HIDE], ids=["with threadpoolctl", "without"])
def test_is_available_finds_a_runtime_without_loading_it(before: str, tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libiomp5.so", fake_libraries.OPENMP % 7)
    query = "from interlock.backends import openmp\nresult = [openmp.is_available(), openmp.runtimes()]"
    assert eval_python(before + query, env=fake_libraries.environment(tmp_path)) == [True, []]


@fake_libraries.NEEDS_COMPILER
def test_uninitialized_mkl_is_not_called(tmp_path: Path) -> None:
    """The first call fixes the runtime of MKL, so its functions must not be called by threadpoolctl."""
    mkl = fake_libraries.build(tmp_path, "libmkl_rt.so.3", MKL)
    gnu = fake_libraries.build(tmp_path, "libgomp.so.1", fake_libraries.OPENMP % 7)
    done = run_program(
        "backends/uninitialized_mkl_is_not_called.py",
        str(mkl),
        str(gnu),
        env=fake_libraries.environment(),
    )
    assert done.stdout.splitlines()[:2] == ["True", "version query"]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("hidden", [False, True], ids=["with threadpoolctl", "without"])
def test_runtimes_lists_every_loaded_runtime_with_its_limit(hidden: bool, tmp_path: Path) -> None:
    gnu = fake_libraries.build(tmp_path, "libgomp.so.1", fake_libraries.OPENMP % 7)
    intel = fake_libraries.build(tmp_path, "libiomp5.so", fake_libraries.OPENMP % 3)
    before, after = eval_program(
        "backends/openmp_runtimes_after_loading.py",
        hidden,
        [str(gnu), str(intel)],
        env=fake_libraries.environment(),
    )
    assert before == []
    assert after == [["libgomp", str(gnu), None, 7], ["libiomp", str(intel), None, 3]]
