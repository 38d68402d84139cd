"""Thread pools of the packages themselves, in an interpreter that has them; a missing package is left out."""

import importlib.util
import os
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor

from interlock import threads

# A model with one operation: its input is its output.
IDENTITY = bytes.fromhex(
    "0808 3a2f 0a10 0a0178 120179 2208 4964656e74697479 120167"
    "5a0b 0a0178 1206 0a04 0801 1200"
    "620b 0a0179 1206 0a04 0801 1200"
    "4204 0a00 100d"
)


def names():
    return {pool.name: [pool.size, pool.extent] for pool in threads.pools()}


def has(*packages):
    return all(importlib.util.find_spec(package) is not None for package in packages)


def limit_packages():
    """Return the sizes before, inside and after a scope."""
    for package in ("torch", "scipy.linalg", "numpy", "numexpr", "onnxruntime"):
        if has(package.partition(".")[0]):
            importlib.import_module(package)
    before = names()
    with threads.limits(1, on_refusal="raise"):
        inside = names()
    return {"before": before, "inside": inside, "after": names()}


def sizes_of_torch():
    """Return what PyTorch has after a third size in a scope and after writes of its interop threads."""
    import torch

    with warnings.catch_warnings(), threads.limits(1):
        warnings.simplefilter("ignore")
        torch.set_num_threads(3)
    with ThreadPoolExecutor(1) as pool:
        left = [torch.get_num_threads(), pool.submit(torch.get_num_threads).result()]
    first = threads.set_limits(4, pools=["torch.interop"], on_refusal="raise")
    again = threads.set_limits(4, pools=["torch.interop"], on_refusal="raise")
    second = threads.set_limits(5, pools=["torch.interop"], on_refusal="ignore")
    refused = [each.pool for each in second]
    return {
        "left": left,
        "accepted": [first, again],
        "refused": refused,
        "size": torch.get_num_interop_threads(),
    }


def refusal_of_numexpr():
    import numexpr

    most = numexpr.MAX_THREADS
    with threads.limits(most + 1, pools=["numexpr"], on_refusal="ignore") as scope:
        return [most, scope.refused]


def threads_of_a_session():
    """Return how many threads a session of ONNX Runtime starts after a limit of 1 and one of 3."""
    import onnxruntime

    found = []
    for size in (1, 3):
        threads.set_limits(size, pools=["onnxruntime"], on_refusal="raise")
        before = len(os.listdir("/proc/self/task"))
        session = onnxruntime.InferenceSession(IDENTITY)
        found.append(len(os.listdir("/proc/self/task")) - before)
        del session
    return found


def look(input):
    found = threads.budget()
    return [int(found), [str(each) for each in found.reasons if each.input == input]]


def budgets_of_joblib():
    from joblib import Parallel, delayed

    return Parallel(n_jobs=2)(delayed(look)("joblib") for _ in range(2))


def budgets_of_ray():
    import ray

    folder = tempfile.mkdtemp(dir="/tmp")
    ray.init(num_cpus=2, include_dashboard=False, _temp_dir=folder, log_to_driver=False)

    @ray.remote
    class Actor:
        def look(self):
            return look("Ray")

    task = ray.remote(look)
    found = {
        "task": ray.get(task.remote("Ray")),
        "task of 2": ray.get(task.options(num_cpus=2).remote("Ray")),
        "actor": ray.get(Actor.remote().look.remote()),
        "driver": look("Ray"),
    }
    ray.shutdown()
    return found
