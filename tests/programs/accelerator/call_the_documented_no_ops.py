import json

from interlock import accelerator

with accelerator.device_index(None):
    pass
accelerator.empty_cache()
accelerator.reset_peak_memory_stats()
accelerator.reset_accumulated_memory_stats()
result = accelerator.device_count()

print("\n" + json.dumps(result))
