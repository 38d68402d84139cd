import json
import os
import warnings

import interlock
from interlock import accelerator


def count():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        number = accelerator.device_count()
    return [number, [f"{warning.category.__name__}: {warning.message}" for warning in caught]]


result = []
for text in ("host:2", "host:3"):
    os.environ["INTERLOCK_ACCELERATOR"] = text
    result.append(count())
interlock.Stream(2)
os.environ["INTERLOCK_ACCELERATOR"] = "host:5"
result += [count(), count()]

print("\n" + json.dumps(result))
