import json

from driver_selection_setup import *

result = []
for text in (None, "host:2", "host:3", "none", "host:0", "hots", "", "host"):
    if text is None:
        os.environ.pop("INTERLOCK_ACCELERATOR", None)
    else:
        os.environ["INTERLOCK_ACCELERATOR"] = text
    assert query() == query()
    result.append(query())

print("\n" + json.dumps(result))
