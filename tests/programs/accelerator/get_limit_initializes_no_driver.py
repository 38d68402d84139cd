import json

from interlock import accelerator, errors
from interlock.accelerator import memory

result = [memory.get_limit(), memory.get_cache_limit()]
accelerator.use("host", devices=2)
try:
    memory.set_limit(1, 7)
except errors.DeviceError:
    result.append("DeviceError")

print("\n" + json.dumps(result))
