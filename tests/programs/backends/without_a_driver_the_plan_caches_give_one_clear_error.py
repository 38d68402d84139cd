import json

from interlock import errors
from interlock.backends import cuda

caches, told = cuda.cufft_plan_cache, set()
for action in (lambda: caches[0], lambda: caches.max_size, caches.clear):
    try:
        action()
    except errors.NoAcceleratorError as error:
        told.add(str(error))
result = list(told)

print("\n" + json.dumps(result))
