import json
import warnings

from driver_selection_setup import *


def warned(text):
    os.environ["INTERLOCK_ACCELERATOR"] = text
    counts = []
    for question in (
        accelerator.is_available,
        accelerator.device_count,
        accelerator.current_accelerator,
        accelerator.current_device_index,
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            question()
        counts.append(len(caught))
    return counts


query()
accelerator.current_device_index()
result = [query(), *map(warned, ("host:2", "host:3", "host:3", "host:2", "none")), query()]

print("\n" + json.dumps(result))
