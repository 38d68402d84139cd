import json

from interlock import accelerator

before = accelerator.is_available(), str(accelerator.current_accelerator())
accelerator.use("host", devices=3, memory=1 << 20)
memory = accelerator.get_memory_info(2)
result = [before, accelerator.device_count(), memory, accelerator.is_available()]

print("\n" + json.dumps(result))
