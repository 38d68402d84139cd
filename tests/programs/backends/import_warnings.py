import json
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import interlock
result = [str(each.message) for each in caught]

print("\n" + json.dumps(result))
