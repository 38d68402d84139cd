import json

from interlock import accelerator, testing
from interlock.accelerator.memory import Buffer

faults = testing.FaultInjector()
accelerator.use("host", memory=256 << 20, faults=faults)
result, sizes = [], [100, 3 << 20, 700, 12 << 20, 2 << 20, 40 << 20, 512]
for failing in range(1, 9):
    faults.fail_allocation(failing)
    kept = [Buffer(size) for size in sizes]
    allocated = sum(-(-size // 512) * 512 for size in sizes)
    reported = [accelerator.memory_allocated() - allocated, accelerator.memory_reserved() - (62 << 20)]
    faults.fail_allocation(None)
    kept.clear()
    accelerator.empty_cache()
    reported += [accelerator.memory_allocated(), accelerator.memory_reserved()]
    reported.append(faults.live_objects()["bytes"])
    result.append(reported)
result.append(accelerator.memory_stats()["num_ooms"])

print("\n" + json.dumps(result))
