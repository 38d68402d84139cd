import json

from cuda_plan_cache_setup import *

caches.max_size = 2**63 - 1
caches.clear()
result = [caches.max_size, caches.size, caches.device_index]
result += [caches[0].max_size, caches[1].max_size, cuda.cuFFTPlanCacheManager().max_size]

print("\n" + json.dumps(result))
