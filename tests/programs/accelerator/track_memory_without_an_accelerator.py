import json

from interlock import errors
from interlock.accelerator import memory

with memory.scope(0) as scope:
    result = [scope.current, scope.peak]
result += [scope.total, scope.allocations]
for wrong in (99, "cpu"):
    try:
        memory.scope(wrong).__enter__()
    except errors.DeviceError as error:
        result.append(type(error).__name__)

print("\n" + json.dumps(result))
