import json

from cuda_plan_cache_setup import *


def wrong(key):
    raised = error(lambda: caches[key], ValueError)
    assert raised == error(lambda: caches[key], RuntimeError)
    return raised


result = [wrong(key) for key in (2, -1, 128, "cuda:2", device("cuda:2"))]
result += [wrong(key) for key in ("cpu", "cuda", device("cpu", 0), "nope", None, 1.5, True, 10**30)]
result.append(error(lambda: cuda.cuFFTPlanCache(5).max_size, RuntimeError))
result.append(error(cuda.cuFFTPlanCache(5).clear, RuntimeError))

print("\n" + json.dumps(result))
