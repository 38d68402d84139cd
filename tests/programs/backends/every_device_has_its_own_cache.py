import json

from cuda_plan_cache_setup import *

result = [[caches[key].max_size for key in (0, 1, "cuda:1", device("cuda", 1))]]
caches["cuda:1"].max_size = 7
caches[0].max_size = 0
result.append([caches[key].max_size for key in (0, 1, "cuda:1", device("cuda", 1))])
result.append([cuda.cuFFTPlanCache(index).max_size for index in (0, 1)])
caches[1].clear()
result.append([caches[1].max_size, caches[1].size, caches[1].device_index])

print("\n" + json.dumps(result))
