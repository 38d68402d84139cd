import json

import interlock
from interlock import accelerator, errors

try:
    interlock.Stream()
except errors.NoAcceleratorError as error:
    message = str(error)
result = [accelerator.device_count(), accelerator.current_accelerator(), message]

print("\n" + json.dumps(result))
