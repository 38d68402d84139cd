import json
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from interlock import errors
assert issubclass(errors.FlagEnvironmentWarning, UserWarning)
result = [[each.category.__name__, str(each.message)] for each in caught]

print("\n" + json.dumps(result))
