"""Fakes of the interfaces of Dask, Ray, joblib and Spark that carry a state; they run tasks in this process.

`make test-integrations` checks that the real objects have the attributes of the fakes.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

HANGS = "hangs"


class Nanny:
    """Dask's supervisor of a worker."""

    def __init__(self, **environment: str) -> None:
        self.env = dict(environment)
        self.pre_spawn_env = dict(environment)


class Client:
    """Dask's client of a cluster whose workers have these answers; an exception is raised there.

    A worker with the answer `HANGS` never answers.
    """

    def __init__(self, **workers: BaseException | str | None) -> None:
        self.workers = workers

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": self.workers}

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 1)

    def sync(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        return asyncio.run(function(*arguments))

    async def run(self, function: Callable[[], Any], *, workers: list[str], on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        answers = {name: self.workers[name] for name in workers}
        if HANGS in answers.values():
            await asyncio.sleep(60)
        return {name: function() if error is None else error for name, error in answers.items()}


class Parallel:
    """joblib's call of functions in workers."""

    n_jobs = 1

    def __call__(
        self, calls: Iterable[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]
    ) -> list[Any]:
        return [function(*arguments, **named) for function, arguments, named in calls]


class RDD:
    """Spark's distributed list."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = items

    def map(self, function: Callable[[Any], Any]) -> RDD:
        return RDD(map(function, self._items))

    def collect(self) -> list[Any]:
        return list(self._items)


class SparkContext:
    """Spark's connection to a cluster."""

    defaultParallelism = 2

    def parallelize(self, items: Iterable[Any], parts: int) -> RDD:
        assert parts == self.defaultParallelism
        return RDD(items)


class NodeAffinitySchedulingStrategy:
    """Ray's choice of a node for a task."""

    def __init__(self, node_id: str, soft: bool) -> None:
        self.node_id, self.soft = node_id, soft


class _Task:
    def __init__(self, nodes: dict[str, Exception | None], function: Callable[[], Any]) -> None:
        self._nodes, self._function = nodes, function
        self._strategy: NodeAffinitySchedulingStrategy | None = None

    def options(self, *, scheduling_strategy: NodeAffinitySchedulingStrategy) -> _Task:
        chosen = copy.copy(self)
        chosen._strategy = scheduling_strategy
        return chosen

    def remote(self) -> Callable[[], Any]:
        assert self._strategy is not None
        error = self._nodes[self._strategy.node_id]
        return (lambda: self._function()) if error is None else _raising(error)


def _raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Ray:
    """The module `ray`, with nodes of these names whose tasks raise."""

    __name__ = "ray"

    def __init__(self, **nodes: Exception | None) -> None:
        self._nodes = nodes

    def remote(self, **_: object) -> Callable[[Callable[[], Any]], _Task]:
        return lambda function: _Task(self._nodes, function)

    def nodes(self) -> Iterator[dict[str, Any]]:
        yield {"Alive": False, "NodeID": "dead", "NodeManagerHostname": "dead"}
        for name in self._nodes:
            yield {"Alive": True, "NodeID": name, "NodeManagerHostname": name}

    def get(self, call: Callable[[], Any], *, timeout: float) -> Any:
        assert timeout > 0
        return call()


def attributes() -> dict[str, list[str]]:
    """Return the public attributes of each fake."""
    made = (
        Nanny(),
        Client(),
        Parallel(),
        RDD([]),
        SparkContext(),
        Ray(),
        NodeAffinitySchedulingStrategy("", False),
    )
    return {
        type(each).__name__: sorted(
            name
            for name in {*vars(type(each)), *vars(each)}
            if not name.startswith("_") and name != "workers"
        )
        for each in made
    }
