import json

import interlock
from interlock import accelerator

reported = [str(accelerator.current_accelerator(check_available=check)) for check in (False, True)]
try:
    accelerator.current_stream()
except interlock.errors.NoAcceleratorError as error:
    result = [*reported, accelerator.is_available(), accelerator.unavailable_reason(), str(error)]

print("\n" + json.dumps(result))
