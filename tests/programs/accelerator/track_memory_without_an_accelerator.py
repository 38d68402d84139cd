import json

from interlock import errors
from interlock.accelerator import memory

with memory.MemoryTracker(0) as tracker:
    result = [tracker.current, tracker.peak]
result += [tracker.total, tracker.allocations]
for wrong in (99, "cpu"):
    try:
        memory.MemoryTracker(wrong).__enter__()
    except errors.DeviceError as error:
        result.append(type(error).__name__)

print("\n" + json.dumps(result))
