"""Scopes of threads that overlap do not affect each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from interlock import backends

from tests.helpers.thread_worker import Worker
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")

Pair = tuple[Worker, Worker]


@pytest.mark.parametrize(
    "scope",
    [lambda: backends.cudnn.flags(enabled=False, benchmark=True), lambda: backends.mkldnn.flags(False, True)],
    ids=["cudnn", "mkldnn"],
)
def test_one_scope_object_is_shared_by_two_threads(scope: Callable[[], Any], workers: Pair) -> None:
    shared, before = scope(), read_all()
    inside = []
    for worker in workers:
        worker.do(shared.__enter__)
        inside.append(worker.do(read_all))
    assert inside[0] == inside[1] != before
    assert read_all() == before
    for worker in workers:
        worker.do(lambda: shared.__exit__(None, None, None))
        assert worker.do(read_all) == before


def test_write_in_one_threads_scope_is_not_seen_by_another(workers: Pair) -> None:
    def write() -> None:
        backends.cudnn.benchmark = True

    scope = backends.cudnn.flags(enabled=True)
    workers[0].do(scope.__enter__)
    workers[0].do(write)
    assert [worker.do(lambda: backends.cudnn.benchmark) for worker in workers] == [True, False]
    workers[0].do(lambda: scope.__exit__(None, None, None))
    assert [worker.do(lambda: backends.cudnn.benchmark) for worker in workers] == [False, False]


def test_assignment_reaches_threads_that_have_no_scope_for_it(workers: Pair) -> None:
    scope = backends.override(**{"cudnn.benchmark": False})
    workers[0].do(scope.__enter__)
    backends.cudnn.benchmark = True
    assert [worker.do(lambda: backends.cudnn.benchmark) for worker in workers] == [False, True]
    workers[0].do(lambda: scope.__exit__(None, None, None))
    assert workers[0].do(lambda: backends.cudnn.benchmark) is True


def test_scope_exited_on_another_thread_ends_on_its_original_thread(workers: Pair) -> None:
    scope = backends.cudnn.flags(enabled=False)
    workers[0].do(scope.__enter__)
    workers[1].do(lambda: scope.__exit__(None, None, None))

    def after_another_scope() -> bool:
        with backends.mkldnn.flags():
            pass
        return backends.cudnn.enabled

    assert workers[0].do(after_another_scope) is True
    assert workers[1].do(after_another_scope) is True


def test_thread_that_ends_inside_a_scope_removes_it() -> None:
    seen = []

    def body() -> None:
        backends.cudnn.flags(enabled=False).__enter__()
        seen.append(backends.cudnn.enabled)

    for _ in range(50):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join(timeout=20)
    assert seen == [False] * 50
    assert backends.cudnn.enabled is True


def test_new_thread_starts_without_its_creators_scopes() -> None:
    seen = []
    with backends.cudnn.flags(enabled=False):
        thread = threading.Thread(target=lambda: seen.append(backends.cudnn.enabled))
        thread.start()
        thread.join(timeout=20)
    assert seen == [True]


def test_many_threads_in_scopes_of_their_own_see_only_their_own_values() -> None:
    start, wrong = threading.Barrier(4), []

    def body(limit: int) -> None:
        start.wait(timeout=20)
        for _ in range(500):
            with backends.override(**{"cudnn.benchmark_limit": limit}):
                if backends.cudnn.benchmark_limit != limit:
                    wrong.append(backends.cudnn.benchmark_limit)
            if backends.cudnn.benchmark_limit != 10:
                wrong.append(backends.cudnn.benchmark_limit)

    threads = [threading.Thread(target=body, args=(limit,)) for limit in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
