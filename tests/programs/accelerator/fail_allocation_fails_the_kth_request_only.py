import json

from faults_setup import *

faults.fail_allocation(3)
retries = []
for _ in range(5):
    Buffer(20 << 20).close()
    retries.append(accelerator.memory_stats()["num_alloc_retries"])
    accelerator.empty_cache()
faults.fail_allocation(1)
faults.fail_allocation(None)
result = [retries, raised(Buffer, 8), raised(faults.fail_allocation, 0)]

# Each call adds a fault, and a request that fails twice calls the observers.
accelerator.empty_cache()
seen = []


def observe(error):
    seen.append(error.requested)
    return len(seen) == 1


with accelerator.memory.on_oom(observe):
    faults.fail_allocation(1, times=2)
    result.append(raised(Buffer, 20 << 20))
    accelerator.empty_cache()
    for number in (1, 2):
        faults.fail_allocation(number)
    result.append(raised(Buffer, 20 << 20)[0])
    result += [seen, raised(Buffer, 20 << 20)]

print("\n" + json.dumps(result))
