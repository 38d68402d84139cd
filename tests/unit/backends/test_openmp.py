"""The OpenMP runtimes of a process."""

from __future__ import annotations

import ctypes.util
import sys
from pathlib import Path

import pytest

from tests.helpers import fake_libraries
from tests.helpers.subprocess import Result, eval_program, eval_python, run_program

#: A fake MKL for threadpoolctl, which prints its calls.
MKL = (
    fake_libraries.MKL
    + """
int MKL_Get_Max_Threads(void) { puts("called"); fflush(stdout); return 1; }
int MKL_Set_Num_Threads_Local(int count) { puts("called"); fflush(stdout); return count; }
int MKL_Set_Threading_Layer(int layer) { puts("called"); fflush(stdout); return 1; }
"""
)
#: A fake MKL that prints the numbers of threads that it receives.
MKL_WITH_THREADS = (
    fake_libraries.MKL
    + """
void MKL_Set_Num_Threads(int count) { printf("process %d\\n", count); fflush(stdout); }
int MKL_Set_Num_Threads_Local(int count) { printf("thread %d\\n", count); fflush(stdout); return 0; }
void MKL_Set_Dynamic(int dynamic) { printf("dynamic %d\\n", dynamic); fflush(stdout); }
"""
)
#: A fake runtime with a number of threads that can be set.
OPENMP_WITH_THREADS = """
static _Thread_local int threads = 7;
int omp_get_max_threads(void) { return threads; }
int omp_get_num_threads(void) { return 1; }
void omp_set_num_threads(int count) { threads = count; }
"""
GNU_RUNTIME = "libgomp.so.1"
NEEDS_GNU_RUNTIME = pytest.mark.skipif(
    sys.platform != "linux" or ctypes.util.find_library("gomp") != GNU_RUNTIME,
    reason="GNU's OpenMP runtime is not installed",
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
        "backends.openmp.uninitialized_mkl_is_not_called",
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
        "backends.openmp.runtimes_after_loading",
        hidden,
        [str(gnu), str(intel)],
        env=fake_libraries.environment(),
    )
    assert before == []
    assert after == [["libgomp", str(gnu), None, 7], ["libiomp", str(intel), None, 3]]


@NEEDS_GNU_RUNTIME
def test_set_num_threads_is_reported_by_gnus_runtime_and_threadpoolctl() -> None:
    default, *set_by_main, on_another_thread, at_the_end = eval_program(
        "backends.openmp.number_of_threads_of_openmp", GNU_RUNTIME, env={"OMP_NUM_THREADS": "5"}
    )
    assert default == [5, 5], "a runtime that is loaded later begins with its own default"
    assert set_by_main == [[1, 1], [2, 2]]
    assert (on_another_thread, at_the_end) == ([3, 3], [2, 2]), "the number belongs to the thread"


@NEEDS_GNU_RUNTIME
def test_set_num_threads_in_a_forked_child_sets_the_number_of_gnus_runtime() -> None:
    assert eval_program("backends.openmp.number_of_threads_in_a_forked_child", GNU_RUNTIME) == [3, 2]


@fake_libraries.NEEDS_COMPILER
def test_set_num_threads_is_passed_to_every_loaded_runtime(tmp_path: Path) -> None:
    paths = [
        str(fake_libraries.build(tmp_path, soname, OPENMP_WITH_THREADS))
        for soname in ("libgomp.so.1", "libiomp5.so")
    ]
    load = f"import ctypes, interlock\npaths = {paths}\nloaded = [ctypes.CDLL(path) for path in paths]\n"
    query = "interlock.set_num_threads(4)\nresult = [each.omp_get_max_threads() for each in loaded]"
    assert eval_python(load + query, env=fake_libraries.environment()) == [4, 4]


@fake_libraries.NEEDS_COMPILER
def test_set_num_threads_loads_no_runtime(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libgomp.so.1", OPENMP_WITH_THREADS)
    query = "import interlock\ninterlock.set_num_threads(4)\nresult = interlock.backends.openmp.runtimes()"
    assert eval_python(query, env=fake_libraries.environment(tmp_path)) == []


@fake_libraries.NEEDS_COMPILER
def test_set_num_threads_is_passed_to_mkl_once_it_is_initialized(tmp_path: Path) -> None:
    """The first call of MKL loads libmkl_core, and the OpenMP runtime that MKL uses."""
    mkl = fake_libraries.build(tmp_path, "libmkl_rt.so.3", MKL_WITH_THREADS)
    core = fake_libraries.build(tmp_path, "libmkl_core.so.3", fake_libraries.EMPTY_LIBRARY)
    done = run_program(
        "backends.openmp.number_of_threads_of_mkl", str(mkl), str(core), env=fake_libraries.environment()
    )
    assert done == Result(0, "initialized\nprocess 3\nthread 0\ndynamic 0\n", "")
