"""Flags and modes of worker processes, which import this file again unless they are forked."""

import multiprocessing
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


def flags_of_workers(method):
    """Return the flags of worker processes of a start method."""
    context = multiprocessing.get_context(method)
    backends.cudnn.deterministic = True
    backends.cudnn.conv.fp32_precision = "ieee"
    answer = {"untouched": list(seen_by_workers(context))}
    install = backends.snapshot().install
    answer["installed"] = list(seen_by_workers(context, install))
    with interlock.no_grad(), backends.cudnn.flags():
        answer["started in scopes"] = list(seen_by_workers(context, install))
    backends.disable_global_flags()
    answer["started while frozen"] = list(seen_by_workers(context, install))
    return answer


def seen():
    return interlock.is_grad_enabled(), backends.cudnn.enabled, backends.cudnn.deterministic


def processes_of_the_documentation():
    backends.cudnn.deterministic = True
    with interlock.no_grad(), backends.override({"cudnn.enabled": False}):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            forked = pool.apply(seen)
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(1, initializer=backends.snapshot().install) as pool:
            spawned = pool.apply(seen)
    print([forked, spawned])
