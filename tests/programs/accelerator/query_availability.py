import json

from interlock import accelerator

counts = [accelerator.device_count() for _ in range(2)]
current = accelerator.current_accelerator()
current = current and str(current)
print(json.dumps([accelerator.is_available(), counts, accelerator.unavailable_reason(), current]))
