import json

import interlock
from interlock import accelerator, errors

result = [
    accelerator.is_available(),
    accelerator.device_count(),
    accelerator.current_accelerator(),
    accelerator.current_accelerator(check_available=True),
    accelerator.unavailable_reason(),
]
try:
    interlock.device(0)
except errors.NoAcceleratorError as error:
    result.append(str(error))
result.append(str(interlock.device("cuda:0")))

print("\n" + json.dumps(result))
