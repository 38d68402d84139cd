"""What worker processes hold, by how they are started, and that `install` gives them the parent's flags."""

from __future__ import annotations

import json
import multiprocessing
import re
from typing import Any

import pytest

from tests.helpers.subprocess import run_python

# Started by the children again where they import their main module, so all of it is in `main`.
WORKERS = """
    import json, multiprocessing, sys
    from concurrent.futures import ProcessPoolExecutor
    import interlock
    from interlock import backends

    def look():
        cudnn = backends.cudnn
        flags = cudnn.deterministic, cudnn.conv.fp32_precision, cudnn.enabled, cudnn.benchmark
        return [*flags, interlock.is_grad_enabled(), backends.flags_frozen()]

    def seen_by_workers(context, initializer=None):
        with context.Pool(1, initializer=initializer) as pool:
            yield pool.apply(look)
        with ProcessPoolExecutor(1, mp_context=context, initializer=initializer) as pool:
            yield pool.submit(look).result()

    def main(context):
        backends.cudnn.deterministic = True
        backends.cudnn.conv.fp32_precision = "ieee"
        answer = {"untouched": list(seen_by_workers(context))}
        install = backends.snapshot().install
        answer["installed"] = list(seen_by_workers(context, install))
        with interlock.no_grad(), backends.cudnn.flags():
            answer["started in scopes"] = list(seen_by_workers(context, install))
        backends.disable_global_flags()
        answer["started while frozen"] = list(seen_by_workers(context, install))
        print(json.dumps(answer))

    if __name__ == "__main__":
        main(multiprocessing.get_context(METHOD))
"""
# Deterministic, precision of convolutions, cudnn, benchmark (from the environment); gradients; freeze.
HELD = [True, "ieee", True, True, True, False]
DEFAULTS = [False, "tf32", True, True, True, False]
SEEN: dict[str, dict[str, list[object]]] = {
    "fork": {
        "untouched": HELD,
        "installed": HELD,
        "started in scopes": [False, "tf32", False, False, False, False],
        "started while frozen": [*HELD[:-1], True],
    },
    "spawn": {
        "untouched": DEFAULTS,
        "installed": HELD,
        "started in scopes": HELD,
        "started while frozen": HELD,
    },
}
SEEN["forkserver"] = SEEN["spawn"]


@pytest.mark.parametrize("method", SEEN)
def test_workers_hold_what_the_page_on_processes_says(method: str) -> None:
    assert method in multiprocessing.get_all_start_methods()
    code = WORKERS.replace("METHOD", repr(method))
    done = run_python(code, env={"INTERLOCK_CUDNN_BENCHMARK": "1"}, options=["-W", "error"])
    assert (done.code, done.stderr) == (0, "")
    answer: dict[str, list[Any]] = json.loads(done.stdout)
    assert answer == {when: [seen, seen] for when, seen in SEEN[method].items()}


REFUSED = """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from interlock import backends

    if __name__ == "__main__":
        stale = backends.snapshot()
        backends.cudnn.deterministic = True
        backends.disable_global_flags()
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(1, mp_context=fork, initializer=stale.install) as pool:
            try:
                pool.submit(backends.flags_frozen).result()
            except BrokenProcessPool:
                print("broken")
"""


def test_a_forked_worker_that_is_frozen_with_other_flags_is_refused_with_the_reason() -> None:
    done = run_python(REFUSED)
    assert (done.code, done.stdout) == (0, "broken\n")
    assert re.search(r"FlagsFrozenError: .* frozen at .*child_script\.py:\d+", done.stderr)
