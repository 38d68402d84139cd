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

print("\n" + json.dumps(result))
