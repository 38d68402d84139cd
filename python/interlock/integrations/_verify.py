"""Compares what worker processes have with the state that they shall have."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import TimeoutError as FuturesTimeoutError
from functools import partial
from multiprocessing import TimeoutError as PoolTimeoutError
from typing import Any, NamedTuple

import interlock
from interlock._homes import set_home
from interlock._quote import counted, printable, shown
from interlock.errors import ArgumentError, StateDriftError
from interlock.integrations._by_value import observer
from interlock.integrations._portable import Portable
from interlock.settings._environ import ENVIRON
from interlock.settings._setting import reason_of
from interlock.settings._writes import same

Answers = dict[str, dict[str, Any]]
"""The result of `observe` by the name of the worker, or a dict with `error`."""

# An answer has one of them.
_PARTS = frozenset({"values", "error", "missing"})
# A pool may give several calls to one worker, so calls are repeated until all workers have answered.
_ROUNDS = 20
_SECONDS_OCCUPIED = 0.05


class Drift(NamedTuple):
    """One value of a worker that differs from the state."""

    worker: str
    """The name of the worker: the address of Dask, or host and process id."""
    name: str
    """The flag, setting or variable (`environ.NAME`), `threads`, `interlock` (its version) or `worker`."""
    wanted: Any
    """The value in the state."""
    found: Any
    """The value in the worker; None if it is not known."""
    reason: str
    """Why it differs, or an empty text if other code has changed it."""

    def __str__(self) -> str:
        reason = f" ({_text(self.reason)})" if self.reason else ""
        worker, name, wanted, found = map(_text, self[:4])
        return f"{worker}: {name} must be {wanted}, got {found}{reason}"


class Verification:
    """The comparison of workers with a state, which `Portable.verify` returns. True if none differs.

    Args:
        state: The state.
        answers: What `observe` has returned in each worker, by the name of the worker.

    Raises:
        TypeError: An argument has a wrong type.

    """

    def __init__(self, state: Portable, answers: Mapping[str, Any]) -> None:
        if not isinstance(state, Portable):
            raise TypeError(f"Verification: state must be a Portable, got {shown(state)}")
        self._state = state
        self._answers = answers = _checked("Verification: answers", answers)
        self.drifts: tuple[Drift, ...] = tuple(
            drift for worker, answer in answers.items() for drift in _drifts(state, worker, answer)
        )
        """The values that differ, worker by worker."""

    @property
    def workers(self) -> dict[str, dict[str, Any]]:
        """The values of each worker by name; empty for a worker that could not answer."""
        return {worker: dict(answer.get("values", {})) for worker, answer in self._answers.items()}

    def __bool__(self) -> bool:
        return bool(self._answers) and not self.drifts

    def check(self) -> None:
        """Raise if a worker differs.

        Raises:
            StateDriftError: A worker differs, or no worker answered. The message names the first ones, and
                the line that made the state.

        """
        if self:
            return
        of = self._state._source("of")
        if not self._answers:
            raise StateDriftError(f"check: no worker answered about the state{of}")
        first = "; ".join(map(str, self.drifts[:3]))
        more = f"; and {len(self.drifts) - 3} more" if len(self.drifts) > 3 else ""
        raise StateDriftError(f"check: workers differ from the state{of}: {first}{more}")

    def __repr__(self) -> str:
        return f"<Verification: {self._summary()}>"

    def __str__(self) -> str:
        rows = [tuple(map(_text, drift)) for drift in self.drifts]
        table = _table(("worker", "name", "wanted", "found", "reason"), rows) if rows else []
        return "\n".join([*table, self._summary()])

    def table(self) -> str:
        """Return the values of all workers as a text for people, a row for each worker.

        Example:
            >>> from interlock.integrations import Portable
            >>> state = Portable({"version": 1, "flags": {"cudnn.benchmark_limit": 10}})
            >>> print(state.verify({"a": state.observe()}).table())
            worker  cudnn.benchmark_limit
            a       10

        """
        names = list(dict.fromkeys(name for values in self.workers.values() for name in values))
        rows = []
        for worker, values in self.workers.items():
            answer = self._answers[worker]
            failed = _text(answer.get("error") or answer.get("missing") or "")
            texts = [_found(name, values[name]) if name in values else "-" for name in names]
            rows.append((_text(worker), *(texts if values or not failed else ["-"] * len(names)), failed))
        has_failed = any(row[-1] for row in rows)
        header = ("worker", *map(_text, names), *(["problem"] if has_failed else []))
        return "\n".join(_table(header, [row if has_failed else row[:-1] for row in rows]))

    def _summary(self) -> str:
        count, number = len(self._answers), len(self.drifts)
        of = self._state._source("of")
        differences = f"{number or 'no'} difference{'s' if number > 1 else ''}"
        return f"{counted(count, 'worker')}: {differences} from the state{of}"


set_home("interlock.integrations", Drift, Verification)


def _text(value: object) -> str:
    return printable(str(value))


def _found(name: str, value: Any) -> str:
    if name == "threads" and isinstance(value, dict):
        sizes = {size for pool, size in value.items() if pool != "wanted"}
        if len(sizes) == 1:
            return _text(*sizes)
        return _text(", ".join(f"{pool} {size}" for pool, size in value.items() if pool != "wanted"))
    return _text(value)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


def _drifts(state: Portable, worker: str, answer: Mapping[str, Any]) -> Iterator[Drift]:
    """Yield the differences of one worker."""
    if "error" in answer:
        yield Drift(worker, "worker", "an answer", None, str(answer["error"]))
        return
    if "missing" in answer:
        yield Drift(worker, "interlock", interlock.__version__, None, str(answer["missing"]))
        return
    if answer.get("interlock") != interlock.__version__:
        yield Drift(worker, "interlock", interlock.__version__, answer.get("interlock"), "another version")
    values, reasons = answer.get("values", {}), answer.get("reasons", {})
    general = reasons.get("", "")
    environment = {f"{ENVIRON}{name}": value for name, value in state.environment.items()}
    for name, wanted in (state.flags | environment | state.settings).items():
        found = values.get(name)
        if name not in values or not same(found, wanted):
            yield Drift(worker, name, wanted, found, reasons.get(name) or general)
    if state.threads is not None:
        sizes = dict(values.get("threads", {}))
        wanted = sizes.pop("wanted", state.threads)
        if not sizes or any(size != wanted for size in sizes.values()):
            reason = reasons.get("threads") or general
            yield Drift(worker, "threads", wanted, _found("threads", sizes), reason)


def verify(state: Portable, workers: Any, timeout: float) -> Verification:
    """Compare workers with a state; see `Portable.verify`."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"verify: timeout must be a number of seconds, got {shown(timeout)}")
    if not 0 < timeout <= 1e6:
        raise ArgumentError(f"verify: timeout must be a positive number of seconds, got {shown(timeout)}")
    return Verification(state, _answers(state, workers, timeout))


def _answers(state: Portable, workers: Any, timeout: float) -> Answers:
    """Ask the workers; an engine is recognized by its methods."""
    if workers is None:
        return _by_process([state.observe()])
    if isinstance(workers, Mapping):
        return _checked("verify: workers", workers)
    copied = observer(state.to_json())
    if hasattr(workers, "scheduler_info") and hasattr(workers, "run"):
        # Dask calls it on the thread of the event loop, and tasks on threads of a pool.
        return _of_dask(workers, observer(state.to_json(), on_new_thread=True), timeout)
    if getattr(workers, "__name__", None) == "ray":
        return _of_ray(workers, copied, timeout)
    if hasattr(workers, "parallelize") or hasattr(workers, "sparkContext"):
        return _of_spark(workers, copied)
    if hasattr(workers, "n_jobs") and callable(workers):
        # The workers of this backend are forked from this process, and functions are sent by name.
        is_forked = type(getattr(workers, "_backend", None)).__name__ == "MultiprocessingBackend"
        copied = observer(state.to_json(), _SECONDS_OCCUPIED)
        return _of_joblib(workers, partial(observe_and_wait, state) if is_forked else copied)
    if hasattr(workers, "apply_async") and hasattr(workers, "_processes"):
        results = partial(workers.apply_async, observe_and_wait, (state,))
        return _of_pool(lambda: results().get, workers._processes, timeout)
    if hasattr(workers, "submit"):
        # An executor of loky copies functions, and its workers may lack interlock.
        is_loky = type(workers).__module__.startswith(("joblib", "loky"))
        copied = observer(state.to_json(), _SECONDS_OCCUPIED)
        call = partial(workers.submit, *([copied] if is_loky else [observe_and_wait, state]))
        return _of_pool(lambda: call().result, getattr(workers, "_max_workers", 1), timeout)
    raise TypeError(
        "verify: workers must be a client, executor, pool, session, the module ray, a mapping or None, "
        f"got {shown(workers)}"
    )


def _by_process(answers: list[dict[str, Any]]) -> Answers:
    return {f"{answer['host']}:{answer['pid']}": answer for answer in answers}


def _checked(what: str, answers: Mapping[Any, Any]) -> Answers:
    if not isinstance(answers, Mapping):
        raise TypeError(f"{what} must be a mapping from names to results of observe, got {shown(answers)}")
    for name, answer in answers.items():
        if not isinstance(name, str):
            raise TypeError(f"{what} must have names of type str, got {shown(name)}")
        if not isinstance(answer, dict) or not (
            answer.keys() & _PARTS and all(map(_is_part, answer.items()))
        ):
            raise TypeError(f"{what} must have results of observe, got {shown(answer)}")
    return dict(answers)


def _is_part(part: tuple[object, Any]) -> bool:
    """Return whether a part of an answer has the type that `observe` gives it."""
    name, value = part
    if name not in ("values", "reasons"):
        return True
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value):
        return False
    if name == "reasons":
        return all(isinstance(each, str) for each in value.values())
    return isinstance(value.get("threads", {}), dict)


def _error(error: BaseException, timeout: float | None = None) -> dict[str, Any]:
    if timeout is not None and isinstance(error, TimeoutError | FuturesTimeoutError | PoolTimeoutError):
        return {"error": f"no answer within {timeout:g} s"}
    return {"error": reason_of(error) if isinstance(error, Exception) else repr(error)}


def _of_dask(client: Any, function: Callable[..., Any], timeout: float) -> Answers:
    """Ask each worker by itself, also those that run a task: one that does not answer hides no other."""
    import asyncio

    async def answer(worker: str) -> dict[str, Any]:
        try:
            # In the client's event loop `run` returns an awaitable.
            call = client.run(function, workers=[worker], on_error="return")
            found = (await asyncio.wait_for(call, timeout))[worker]
        except Exception as error:
            found = error
        return _error(found, timeout) if isinstance(found, BaseException) else found

    async def answers(workers: list[str]) -> list[dict[str, Any]]:
        return await asyncio.gather(*map(answer, workers))

    workers = sorted(client.nthreads())
    return dict(zip(workers, client.sync(answers, workers), strict=True))


def _of_ray(ray: Any, function: Callable[..., Any], timeout: float) -> Answers:
    """Ask one worker of each node."""
    from importlib import import_module

    strategies = import_module("ray.util.scheduling_strategies")
    task = ray.remote(num_cpus=0, max_retries=0)(function)
    calls = {
        f"{node['NodeManagerHostname']} {node['NodeID'][:8]}": task.options(
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in ray.nodes()
        if node["Alive"]
    }
    found: Answers = {}
    for worker, call in calls.items():
        try:
            found[worker] = ray.get(call, timeout=timeout)
        except Exception as error:
            found[worker] = _error(error, timeout)
    return found


def _of_spark(session: Any, function: Callable[..., Any]) -> Answers:
    """Ask the Python workers of the executors, of which each task may have its own."""
    context = getattr(session, "sparkContext", session)
    number = max(2, int(context.defaultParallelism))
    try:
        return _by_process(context.parallelize(range(number), number).map(function).collect())
    except Exception as error:
        return {"Spark": _error(error)}


def _of_joblib(parallel: Any, function: Callable[..., Any]) -> Answers:
    number = sys.modules["joblib"].effective_n_jobs(parallel.n_jobs)
    try:
        return _by_process(parallel((function, (), {}) for _ in range(2 * number)))
    except Exception as error:
        return {"joblib": _error(error)}


def observe_and_wait(state: Portable) -> dict[str, Any]:
    """Observe, and occupy the worker, so that others answer the next calls."""
    answer = state.observe()
    time.sleep(_SECONDS_OCCUPIED)
    return answer


def _of_pool(start: Callable[[], Callable[[float], Any]], number: int, timeout: float) -> Answers:
    """Ask as many workers as a pool has, or as many as answer in some rounds.

    Args:
        start: Starts a call on any worker, and returns the function that waits for its result.
        number: The number of workers.
        timeout: The seconds to wait at most.

    """
    found: Answers = {}
    end = time.monotonic() + timeout
    for _ in range(_ROUNDS):
        try:
            calls = [start() for _ in range(number)]
            for wait in calls:
                found |= _by_process([wait(max(0.0, end - time.monotonic()))])
        except Exception as error:
            return found | {"pool": _error(error, timeout)}
        # The threads of an executor are in one process.
        if len(found) >= number or any(answer["pid"] == os.getpid() for answer in found.values()):
            break
    return found
