import json

from cuda_plan_cache_setup import *

actions = [lambda key=key: caches[key] for key in (0, 5, -1, "cuda:0", device("cuda:0"))]
actions += [lambda: caches.size, lambda: caches.max_size, lambda: setattr(caches, "max_size", 3)]
actions += [caches.clear, lambda: cuda.cuFFTPlanCache(0).max_size, cuda.cuFFTPlanCache(0).clear]
result = [error(action, RuntimeError) for action in actions]

print("\n" + json.dumps(result))
