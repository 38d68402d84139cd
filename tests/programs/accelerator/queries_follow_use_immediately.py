import json

from driver_selection_setup import *

result = [query()]
for devices in (2, 0, 5):
    accelerator.use("host", devices=devices)
    result.append(query())
accelerator.use("none")
result.append(query())

print("\n" + json.dumps(result))
