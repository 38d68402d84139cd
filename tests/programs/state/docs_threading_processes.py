import multiprocessing
import os

import interlock
from interlock import backends


def seen():
    return interlock.is_grad_enabled(), backends.cudnn.enabled, backends.cudnn.deterministic


if __name__ == "__main__":
    backends.cudnn.deterministic = True
    with interlock.no_grad(), backends.override({"cudnn.enabled": False}):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            forked = pool.apply(seen)
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(1, initializer=backends.snapshot().install) as pool:
            spawned = pool.apply(seen)
    print([forked, spawned])
