import json
import warnings

from interlock import backends

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    seen = [backends.cpu.get_cpu_capability() for _ in range(3)]
result = [seen, [[each.category.__name__, str(each.message)] for each in caught]]

print("\n" + json.dumps(result))
