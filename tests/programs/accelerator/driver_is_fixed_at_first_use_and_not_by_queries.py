import json

import interlock
from interlock import accelerator, errors

accelerator.device_count(), accelerator.is_available(), accelerator.current_accelerator()
accelerator.unavailable_reason(), interlock.device(0)
accelerator.use("host", devices=2)
interlock.Stream()
try:
    accelerator.use("host", devices=3)
except errors.DriverInUseError as error:
    message = str(error)
result = [accelerator.device_count(), message]

print("\n" + json.dumps(result))
