"""Reports of pools that may run more threads than the process has CPUs."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from interlock import threads
from interlock.errors import ArgumentError, ThreadPoolWarning
from interlock.threads import Budget, Load, Oversubscription

assert numpy.__version__, "the import loads OpenBLAS"


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threads.limits(2, pools=["openblas", "interlock"]):
        yield


def loads(report: Oversubscription) -> dict[str, tuple[int, int]]:
    return {load.pool: (load.size, load.threads) for load in report.loads}


def test_threads_of_callers_multiply_unless_they_share_the_pool() -> None:
    found = loads(threads.oversubscription(callers=4, warn=False))
    assert found["openblas.numpy"] == (2, 5)
    assert found["interlock"] == (2, 8)


def test_more_threads_than_cpus_are_reported_with_the_fitting_size() -> None:
    with pytest.warns(ThreadPoolWarning) as caught:
        report = threads.oversubscription(callers=4, workers=10_000)
    assert report
    assert (report.budget, report.callers, report.limit) == (1, 4, 1)
    assert str(caught[0].message) == f"oversubscription: {report}"
    assert str(report).startswith("more threads than 1 CPU may run with 4 callers: ")
    assert "interlock 8 (size 2), " in str(report)
    assert str(report).endswith("openblas.numpy 5 (size 2); use limits(1)")
    assert caught[0].filename == __file__
    counts = [load.threads for load in report.loads]
    assert counts == sorted(counts, reverse=True)


def test_report_is_false_if_all_pools_fit() -> None:
    with warnings.catch_warnings(), threads.limits(1):
        warnings.simplefilter("error")
        report = threads.oversubscription(callers=1)
    assert not report
    assert str(report).startswith("no pool exceeds ")
    assert str(report).endswith(" with 1 caller")


def test_callers_are_the_threads_of_python_unless_they_are_given() -> None:
    assert threads.oversubscription(warn=False).callers == threading.active_count()


@pytest.mark.parametrize(
    ("sizes", "callers", "cpus", "text"),
    [
        ([8], 1, 4, "more threads than 4 CPUs may run with 1 caller: pool 8 (size 8); use limits(4)"),
        ([4], 2, 4, "more threads than 4 CPUs may run with 2 callers: pool 8 (size 4); use limits(2)"),
        ([1], 8, 4, "more threads than 4 CPUs may run with 8 callers: pool 8 (size 1); use fewer callers"),
        ([2], 2, 4, "no pool exceeds 4 CPUs with 2 callers"),
        ([], 2, 1, "no pool exceeds 1 CPU with 2 callers"),
    ],
)
def test_text_names_a_size_or_fewer_callers(sizes: list[int], callers: int, cpus: int, text: str) -> None:
    pools = tuple(Load("pool", size, size * callers) for size in sizes)
    report = Oversubscription(Budget(cpus), callers, pools)
    assert (str(report), bool(report)) == (text, text.startswith("more"))


@pytest.mark.parametrize(
    ("callers", "error"), [(0, ArgumentError), (-3, ArgumentError), ("4", TypeError), (True, TypeError)]
)
def test_callers_must_be_a_positive_int(callers: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        threads.oversubscription(callers)
    assert str(caught.value) == f"oversubscription: callers must be a positive int or None, got {callers!r}"
