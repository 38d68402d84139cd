"""Read every flag before and after an assignment and deletion: both give the environment's value."""

import json
import sys
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from interlock import backends, errors
assert all(issubclass(each.category, errors.FlagEnvironmentWarning) for each in caught)
(table,) = map(json.loads, sys.argv[1:])


def read():
    return {name: backends.explain(name)[1:4] for name in table}


first = read()
for name, value in table.items():
    *path, attribute = name.split(".")
    owner = backends
    for part in path:
        owner = getattr(owner, part)
    # JSON has no tuples.
    setattr(owner, attribute, tuple(value) if isinstance(value, list) else value)
    delattr(owner, attribute)
    assert backends.explain(name)[1:4] == first[name], name
result = [first, [str(each.message) for each in caught]]

print("\n" + json.dumps(result))
