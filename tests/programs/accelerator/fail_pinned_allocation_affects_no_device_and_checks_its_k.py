import json

from pinned_setup import *

faults = testing.FaultInjector()
accelerator.use("host", faults=faults)
faults.fail_pinned_allocation(1)
buffer = memory.Buffer(8)
try:
    faults.fail_pinned_allocation(0)
except errors.ArgumentError as error:
    result = [str(error)]

print("\n" + json.dumps(result))
