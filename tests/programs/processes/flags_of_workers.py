"""Print the flags of worker processes of a start method as JSON; the workers import this file again."""

import json
import multiprocessing
import sys
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
    main(multiprocessing.get_context(json.loads(sys.argv[1])))
