import json

from cuda_plan_cache_setup import *

wrong = (-1, 2**63, True, "7", 1.5, None)
result = []
for given in wrong:
    result.append(error(lambda: setattr(caches[1], "max_size", given), ValueError, TypeError))
    assert result[-1] == error(lambda: setattr(caches[1], "max_size", given), RuntimeError)
with backends.frozen():
    result.append(error(lambda: setattr(caches[1], "max_size", 3), RuntimeError))
    caches[1].clear()
assert caches[1].max_size == 4096

print("\n" + json.dumps(result))
