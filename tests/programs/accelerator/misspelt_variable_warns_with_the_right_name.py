import json
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import interlock

    interlock.backends.cudnn.enabled
result = [str(warning.message) for warning in caught]

print("\n" + json.dumps(result))
