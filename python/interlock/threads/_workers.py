"""Processes that share the CPUs of this one: ranks and workers of launchers and schedulers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from interlock._quote import counted, shown

_COUNTS = {
    "LOCAL_WORLD_SIZE": "ranks of torchrun on this machine",
    "PYTEST_XDIST_WORKER_COUNT": "workers of pytest-xdist",
}
"""Variables with the number of processes among which the CPUs are divided."""


class Workers(NamedTuple):
    """The CPUs of this process according to one launcher or scheduler."""

    input: str
    """The variable, or the name of the scheduler."""
    text: str
    """The text that it reports."""
    divisor: int = 1
    """The number of processes that share the CPUs."""
    share: int | None = None
    """The CPUs that the scheduler gave this process; None for no limit."""


def workers(environment: Mapping[str, str]) -> Iterator[Workers]:
    """Yield the limits of launchers and schedulers; schedulers are queried only if they are imported."""
    for name, what in _COUNTS.items():
        if name in environment:
            number = _positive(environment[name])
            if number is None:
                yield Workers(name, _ignored(environment[name]))
            else:
                yield Workers(name, f"{number} {what}", divisor=number)
    yield from _loky(environment)
    yield from _dask()
    yield from _ray()


def _positive(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number > 0 else None


def _ignored(text: str) -> str:
    return f"ignored: a positive int is expected, got {shown(text)}"


def _loky(environment: Mapping[str, str]) -> Iterator[Workers]:
    """Yield the limits of loky, which runs the processes of joblib."""
    name = "LOKY_MAX_CPU_COUNT"
    if name in environment:
        number = _positive(environment[name])
        if number is None:
            yield Workers(name, _ignored(environment[name]))
        else:
            yield Workers(name, f"at most {number} CPUs for joblib", share=number)
    process = getattr(sys.modules.get("multiprocessing.process"), "current_process", None)
    if process is not None and process().name.startswith("LokyProcess"):
        # joblib divides the CPUs among its workers, and passes the share in this variable only.
        number = _positive(environment.get("OMP_NUM_THREADS", ""))
        if number is None:
            yield Workers("joblib", "a worker of joblib without a valid OMP_NUM_THREADS: 1 CPU", share=1)
        else:
            yield Workers(
                "joblib", f"OMP_NUM_THREADS={number}, which joblib set for its worker", share=number
            )


def _dask() -> Iterator[Workers]:
    module = sys.modules.get("distributed.worker")
    try:
        worker = None if module is None else _dask_worker(module)
        if worker is not None:
            number = int(worker.state.nthreads)
            yield Workers("Dask", f"a worker with {counted(number, 'thread')}", share=max(1, number))
    except Exception as error:
        yield Workers("Dask", f"ignored: the worker does not report its threads: {error!r}")


def _dask_worker(module: Any) -> Any:
    """Return the worker that runs this task, or the only one of this process; None outside of workers."""
    try:
        return module.get_worker()
    except ValueError:
        found = list(module.Worker._instances)
        return found[0] if len(found) == 1 else None


def _ray() -> Iterator[Workers]:
    ray: Any = sys.modules.get("ray")
    try:
        if ray is None or not ray.is_initialized() or not _is_ray_worker(ray):
            return
        resources = ray.get_runtime_context().get_assigned_resources()
        number = float(resources.get("CPU", 0))
    except Exception as error:
        yield Workers("Ray", f"ignored: Ray does not report the CPUs of this task: {error!r}")
        return
    # An actor without num_cpus occupies no CPU in Ray's books; Ray sets OMP_NUM_THREADS=1 for it.
    text = f"a task or actor with {counted(number, 'CPU')}" if number else "an actor without CPUs: 1 CPU"
    yield Workers("Ray", text, share=max(1, math.floor(number)))


def _is_ray_worker(ray: Any) -> bool:
    """Return whether this process runs tasks; the driver's process does not."""
    return bool(ray.get_runtime_context().worker.mode == ray.WORKER_MODE)
