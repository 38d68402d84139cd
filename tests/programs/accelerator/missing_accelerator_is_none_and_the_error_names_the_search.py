import json

import interlock
from interlock import accelerator, errors

try:
    interlock.Stream()
except errors.NoAcceleratorError as error:
    result = [accelerator.current_accelerator(), accelerator.unavailable_reason(), str(error)]

print("\n" + json.dumps(result))
