"""Train the digits data-parallel on worker processes, kill a worker in the middle, and compare the bits.

Needs `pip install distributed`, or `pip install ray` with `--ray`. Each batch is divided into parts, whose
gradients are computed by workers and added by the driver in the order of the parts. So the bits of the result
depend neither on the number of workers nor on what happens to them, as long as each computes with the flags
of the driver. A worker that starts in place of a killed one gets them, too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import interlock
from interlock import Tensor, backends
from interlock.integrations import Portable, portable
from quickstart import Classifier, load_digits

EPOCHS, BATCH, PARTS, WORKERS = 3, 96, 4, 2
TESTED = 360
KILLED_AT = 20
Gradients = list[Tensor]
Part = tuple[Tensor, Tensor]


def compute_gradients(parameters: Gradients, part: Part) -> Gradients:
    """Return the gradients of the sum of the losses of one part of a batch."""
    model = Classifier()
    # New tensors: engines pass the same ones to several calls, and gradients would add up in them.
    model.parameters = [parameter.detach().requires_grad_() for parameter in parameters]
    images, labels = part
    interlock.cross_entropy(model(images), labels, reduction="sum").backward()
    return [parameter.grad for parameter in model.parameters if parameter.grad is not None]


class DaskWorkers:
    """Processes of a local cluster of Dask, which replaces those that die."""

    def __init__(self, state: Portable) -> None:
        from distributed import Client, LocalCluster

        self._processes = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
        self.cluster = Client(self._processes)
        for plugin in state.dask():
            self.cluster.register_plugin(plugin)

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return sorted(self.cluster.run(os.getpid).values())

    def submit(self, function: Callable[[Part], Any], parts: list[Part]) -> list[Any]:
        """Start the calls of a function with each part."""
        calls: list[Any] = self.cluster.map(function, parts, pure=False)
        return calls

    def results(self, calls: list[Any]) -> list[Any]:
        """Wait for the results, in the order of the calls. Calls of a killed worker are repeated."""
        results: list[Any] = self.cluster.gather(calls)
        return results

    def close(self) -> None:
        """End the cluster."""
        self.cluster.close()
        self._processes.close()


class RayWorkers:
    """Processes of a local cluster of Ray."""

    def __init__(self, state: Portable) -> None:
        import ray

        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, runtime_env=state.ray())
        self.cluster: Any = ray

    def pids(self) -> list[int]:
        """Return the process id of a worker."""
        return [self.cluster.get(self.cluster.remote(lambda: os.getpid()).remote())]

    def submit(self, function: Callable[[Part], Any], parts: list[Part]) -> list[Any]:
        """Start the calls of a function with each part."""
        task = self.cluster.remote(max_retries=3)(lambda part: function(part))
        return [task.remote(part) for part in parts]

    def results(self, calls: list[Any]) -> list[Any]:
        """Wait for the results, in the order of the calls. Calls of a killed worker are repeated."""
        results: list[Any] = self.cluster.get(calls)
        return results

    def close(self) -> None:
        """End the cluster."""
        self.cluster.shutdown()


def train(
    workers: DaskWorkers | RayWorkers, images: Tensor, labels: Tensor, killed_at: int | None
) -> Classifier:
    """Train with gradients that workers compute; at one step a worker is killed."""
    interlock.manual_seed(0)
    model = Classifier()
    step = 0
    for _ in range(EPOCHS):
        for start in range(0, len(images), BATCH):
            batch = images[start : start + BATCH], labels[start : start + BATCH]
            size = -(-len(batch[0]) // PARTS)
            parts = [(batch[0][i : i + size], batch[1][i : i + size]) for i in range(0, len(batch[0]), size)]
            parameters = [parameter.detach() for parameter in model.parameters]
            victims = workers.pids() if step == killed_at else []
            calls = workers.submit(partial(compute_gradients, parameters), parts)
            if victims:
                os.kill(victims[0], signal.SIGKILL)
                print(f"step {step}: killed one of the workers")
            gradients = workers.results(calls)
            for index, parameter in enumerate(model.parameters):
                # In the order of the parts, not in the order in which workers finish.
                total = gradients[0][index]
                for other in gradients[1:]:
                    total = total + other[index]
                parameter.grad = total / len(batch[0])
            model.step()
            step += 1
    return model


def digest(model: Classifier) -> str:
    """Return a digest of the bits of all parameters."""
    numbers = [number for parameter in model.parameters for number in parameter.detach().flatten().tolist()]
    return hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]


def main() -> int:
    """Train twice, without and with a killed worker."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ray", action="store_true", help="workers of Ray instead of Dask")
    chosen = parser.parse_args()
    interlock.use_deterministic_algorithms(True)
    backends.fp32_precision = "ieee"
    state = portable(threads=1)

    rows, numbers = load_digits()
    images, labels = interlock.tensor(rows), interlock.tensor(numbers)
    training, tested = (images[:-TESTED], labels[:-TESTED]), (images[-TESTED:], labels[-TESTED:])
    workers = (RayWorkers if chosen.ray else DaskWorkers)(state)
    try:
        models = [train(workers, *training, killed_at=step) for step in (None, KILLED_AT)]
        if not chosen.ray:
            # Dask replaces the killed worker meanwhile.
            workers.cluster.wait_for_workers(WORKERS)
        found = state.verify(workers.cluster)
    finally:
        workers.close()
    print(found.table())
    found.check()
    with interlock.no_grad():
        right = (models[1](tested[0]).argmax(1) == tested[1]).sum().item()
    print(f"accuracy {100 * right / TESTED:.1f} %")
    digests = [digest(model) for model in models]
    print(f"bits without a killed worker {digests[0]}, with one {digests[1]}")
    return 0 if digests[0] == digests[1] else 1


if __name__ == "__main__":
    sys.exit(main())
