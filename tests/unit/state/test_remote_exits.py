"""A scope that is exited on another thread ends wherever it is open.

Generators cause such exits: the GC closes them on any thread, and pools resume them on any thread.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import interlock
import pytest
from interlock import backends

from tests.helpers.thread_worker import SECONDS, Worker
from tests.unit.autograd.mode_cases import all_modes
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")

Pair = tuple[Worker, Worker]


class Case(NamedTuple):
    """A scope, and a function that reads its effect."""

    make: Callable[[], Any]
    look: Callable[[], Any]


SCOPES = {
    "no_grad": Case(interlock.no_grad, all_modes),
    "inference_mode": Case(interlock.inference_mode, all_modes),
    "set_grad_enabled": Case(lambda: interlock.set_grad_enabled(False), all_modes),
    "cudnn.flags": Case(lambda: backends.cudnn.flags(enabled=False), read_all),
    "override": Case(lambda: backends.override({"fp32_precision": "ieee"}), read_all),
}
EACH = pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES.keys())


def enter_a_mode() -> None:
    interlock.enable_grad().__enter__()


def exit_nothing() -> None:
    interlock.no_grad().__exit__(None, None, None)


def write_a_mode() -> None:
    interlock.set_grad_enabled(True)


def enter_flags() -> None:
    with backends.override({"mkldnn.deterministic": False}):
        pass


def write_a_flag() -> None:
    backends.mkldnn.deterministic = False


# Calls in which a thread applies remote exits. A read does not.
ACTIONS = pytest.mark.parametrize(
    "act",
    [enter_a_mode, exit_nothing, write_a_mode, enter_flags, write_a_flag],
    ids=lambda act: act.__name__,
)


def holding(scope: Case, kept: object = None) -> Generator[None, None, None]:
    """Stay in the scope at a `yield`, as an undecorated generator does."""
    with scope.make():
        yield
    assert kept is None, "a generator in a cycle is closed, not run to its end"


def start_in_a_cycle(scope: Case) -> weakref.ref[Generator[None, None, None]]:
    """Start a generator that only the GC can end."""
    cycle: list[object] = []
    running = holding(scope, cycle)
    cycle.append(running)
    next(running)
    return weakref.ref(running)


@pytest.fixture
def collected_only_when_asked() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.product
@EACH
@ACTIONS
@pytest.mark.usefixtures("collected_only_when_asked")
def test_gc_on_another_thread_ends_the_scope_of_a_generator(
    scope: Case, act: Callable[[], None], workers: Pair
) -> None:
    entered_on, collects = workers
    without = scope.look()
    running = entered_on.do(lambda: start_in_a_cycle(scope))
    assert entered_on.do(scope.look) != without
    assert running() is not None
    collects.do(gc.collect)
    assert running() is None
    assert collects.do(scope.look) == without
    entered_on.do(act)
    assert entered_on.do(scope.look) == without


@pytest.mark.usefixtures("collected_only_when_asked")
def test_write_after_a_remote_exit_is_process_wide(workers: Pair) -> None:
    def write() -> None:
        backends.fp32_precision = "tf32"

    entered_on, collects = workers
    entered_on.do(lambda: start_in_a_cycle(SCOPES["override"]))
    collects.do(gc.collect)
    entered_on.do(write)
    assert [worker.do(lambda: backends.fp32_precision) for worker in workers] == ["tf32", "tf32"]


def finish(running: Generator[None, None, None]) -> None:
    assert next(running, "ended") == "ended"


def close(running: Generator[None, None, None]) -> None:
    running.close()


def throw(running: Generator[None, None, None]) -> None:
    with pytest.raises(KeyError):
        running.throw(KeyError())


@EACH
@pytest.mark.parametrize("end", [finish, close, throw], ids=lambda end: end.__name__)
def test_generator_moved_to_another_thread_ends_its_scope_on_the_first(
    scope: Case, end: Callable[[Generator[None, None, None]], None]
) -> None:
    running, without = holding(scope), scope.look()
    entered, ended, both = threading.Event(), threading.Event(), threading.Barrier(2)

    def enter() -> Any:
        next(running)
        inside = scope.look()
        entered.set()
        # The thread is busy until the end, so that another thread runs the other job.
        assert ended.wait(SECONDS)
        enter_flags()
        return inside, scope.look()

    def exit_scope() -> Any:
        assert entered.wait(SECONDS)
        before = scope.look()
        end(running)
        ended.set()
        return before, scope.look()

    def later() -> Any:
        both.wait(SECONDS)
        return scope.look()

    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(enter), pool.submit(exit_scope)]
        (inside, after_enter), (before_exit, after_exit) = (job.result(SECONDS) for job in jobs)
        jobs = [pool.submit(later) for _ in range(2)]
        after_all = [job.result(SECONDS) for job in jobs]
    assert inside != without
    assert (after_enter, before_exit, after_exit, *after_all) == (without,) * 5


def test_ended_thread_removes_its_scope_and_a_later_exit_does_nothing() -> None:
    running = holding(SCOPES["no_grad"])
    thread = threading.Thread(target=lambda: next(running))
    thread.start()
    thread.join(SECONDS)
    before = all_modes()
    running.close()
    assert all_modes() == before
