import json
import sys

import cuda_setup
from cuda_setup import *

(code,) = map(json.loads, sys.argv[1:])

other = interlock.Stream(1)
driver = ctypes.CDLL("libcuda.so.1")
assert driver.fake_cuda_break_device(0, code) == 0
try:
    stream.synchronize()
except errors.AcceleratorError as error:
    first = [type(error).__name__, error.error_code, error.operation, str(error)]
later = {name: raised(use) for name, use in USES.items()}
fill_(Buffer(8, 1), 1, stream=other)
other.synchronize()
memory.empty_cache()
for name in ("stream", "event", "buffer", "graph", "USES"):
    del globals()[name]
    delattr(cuda_setup, name)
gc.collect()
result = [first, later]

print("\n" + json.dumps(result))
