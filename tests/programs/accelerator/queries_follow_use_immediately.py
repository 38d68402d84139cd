import json

from driver_selection_setup import *

result = [ask()]
for devices in (2, 0, 5):
    accelerator.use("host", devices=devices)
    result.append(ask())
accelerator.use("none")
result.append(ask())

print("\n" + json.dumps(result))
