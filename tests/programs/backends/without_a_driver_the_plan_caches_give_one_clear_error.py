import json

from interlock import errors
from interlock.backends import cuda

caches, reported = cuda.cufft_plan_cache, set()
for action in (lambda: caches[0], lambda: caches.max_size, caches.clear):
    try:
        action()
    except errors.NoAcceleratorError as error:
        reported.add(str(error))
result = list(reported)

print("\n" + json.dumps(result))
