"""The OpenMP runtimes that oneDNN (GNU's) and MKL (Intel's) bring into a process."""

from __future__ import annotations

import pytest

from tests.hardware.vendor.expected_packages import LIBRARIES
from tests.hardware.vendor.programs import answer

HIDE = "sys.modules['threadpoolctl'] = None\n"
SHOWN_AND_HIDDEN = pytest.mark.parametrize("hidden", ["", HIDE], ids=["threadpoolctl", "without"])
RUNTIMES = """
from interlock.backends import libraries, openmp
for name in {names!r}:
    libraries.load(name)
def files():
    return [file for file in vendors() if "omp" in file]
before = files()
runtimes = sorted(openmp.runtimes())
assert files() == before
assert all(isinstance(runtime, openmp.Runtime) for runtime in runtimes)
result = [[runtime.name, os.path.realpath(runtime.path), runtime.threads] for runtime in runtimes]
"""


def loaded(hidden: str, *names: str, **env: str) -> list[list[object]]:
    """Return the runtimes after these libraries have been loaded: name, file and threads."""
    runtimes: list[list[object]] = answer(hidden + RUNTIMES.format(names=names), env)
    return runtimes


@SHOWN_AND_HIDDEN
def test_each_runtime_is_told_once_it_is_loaded(hidden: str) -> None:
    assert loaded(hidden) == []
    assert [name for name, _, _ in loaded(hidden, "onednn")] == ["libgomp"]
    ((name, path, _),) = loaded(hidden, "mkl")
    assert (name, path) == ("libiomp", str(LIBRARIES["openmp"].file.resolve()))
    assert [name for name, _, _ in loaded(hidden, "mkl", "onednn")] == ["libgomp", "libiomp"]


@SHOWN_AND_HIDDEN
def test_mkl_takes_the_runtime_that_is_there(hidden: str) -> None:
    assert [name for name, _, _ in loaded(hidden, "onednn", "mkl")] == ["libgomp"]


@SHOWN_AND_HIDDEN
@pytest.mark.parametrize("count", [1, 3])
def test_limits_of_threads_follow_the_environment(hidden: str, count: int) -> None:
    runtimes = loaded(hidden, "mkl", "onednn", OMP_NUM_THREADS=str(count))
    assert [(name, threads) for name, _, threads in runtimes] == [("libgomp", count), ("libiomp", count)]


def test_both_ways_of_asking_tell_the_same() -> None:
    assert loaded("", "mkl", "onednn") == loaded(HIDE, "mkl", "onednn")


@SHOWN_AND_HIDDEN
def test_limits_are_those_of_the_thread_that_asks(hidden: str) -> None:
    code = f"""
{hidden}
import threading
from interlock.backends import libraries, openmp
gomp = ctypes.CDLL(libraries.load("onednn").path)
def limit():
    (runtime,) = openmp.runtimes()
    return runtime.threads
def other():
    gomp.omp_set_num_threads(5)
    result.append(limit())
result = []
thread = threading.Thread(target=other)
thread.start()
thread.join()
result.append(limit())
"""
    assert answer(code, {"OMP_NUM_THREADS": "2"}) == [5, 2]
