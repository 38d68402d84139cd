"""The OpenMP runtimes that oneDNN (GNU's) and MKL (Intel's) load."""

from __future__ import annotations

import pytest

from tests.hardware.vendor.expected_packages import LIBRARIES
from tests.hardware.vendor.programs import answer_of

SHOWN_AND_HIDDEN = pytest.mark.parametrize("hidden", [False, True], ids=["threadpoolctl", "without"])


def loaded(hidden: bool, *names: str, **env: str) -> list[list[object]]:
    """Return the runtimes after these libraries have been loaded: name, file and threads."""
    runtimes: list[list[object]] = answer_of("libraries.openmp_runtimes", hidden, names, env=env)
    return runtimes


@SHOWN_AND_HIDDEN
def test_runtimes_lists_each_runtime_once_it_is_loaded(hidden: bool) -> None:
    assert loaded(hidden) == []
    assert [name for name, _, _ in loaded(hidden, "onednn")] == ["libgomp"]
    ((name, path, _),) = loaded(hidden, "mkl")
    assert (name, path) == ("libiomp", str(LIBRARIES["openmp"].file.resolve()))
    assert [name for name, _, _ in loaded(hidden, "mkl", "onednn")] == ["libgomp", "libiomp"]


@SHOWN_AND_HIDDEN
def test_mkl_uses_the_loaded_runtime(hidden: bool) -> None:
    assert [name for name, _, _ in loaded(hidden, "onednn", "mkl")] == ["libgomp"]


@SHOWN_AND_HIDDEN
@pytest.mark.parametrize("count", [1, 3])
def test_limits_of_threads_follow_the_environment(hidden: bool, count: int) -> None:
    runtimes = loaded(hidden, "mkl", "onednn", OMP_NUM_THREADS=str(count))
    assert [(name, threads) for name, _, threads in runtimes] == [("libgomp", count), ("libiomp", count)]


def test_runtimes_equal_the_report_of_threadpoolctl() -> None:
    assert loaded(False, "mkl", "onednn") == loaded(True, "mkl", "onednn")


def test_set_num_threads_is_reported_for_mkl_and_both_runtimes() -> None:
    numbers = [dict.fromkeys(("libgomp", "libiomp", "libmkl_rt"), number) for number in (1, 3)]
    assert answer_of("libraries.number_of_threads", env={"OMP_NUM_THREADS": "2"}) == numbers


@SHOWN_AND_HIDDEN
def test_limits_are_those_of_the_calling_thread(hidden: bool) -> None:
    assert answer_of("libraries.openmp_limits_of_threads", hidden, env={"OMP_NUM_THREADS": "2"}) == [5, 2]
