import json

from interlock import accelerator

result = []
for name in ("host", "cuda", "host", "none"):
    accelerator.use(name)
    result.append([accelerator.device_count(), accelerator.unavailable_reason() is None])

print("\n" + json.dumps(result))
