import json

from interlock import accelerator, errors, testing

faults = testing.FaultInjector()
try:
    faults.fail_next_copy("never")
except errors.NoAcceleratorError as error:
    result = str(error)

print("\n" + json.dumps(result))
