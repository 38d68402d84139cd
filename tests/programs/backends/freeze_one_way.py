import json

from interlock import backends, errors

backends.cudnn.benchmark = True
assert backends.flags_frozen() is False
assert backends.disable_global_flags() is None
with backends.frozen():
    pass
result = [backends.flags_frozen()]
for write in (
    lambda: setattr(backends.cudnn, "benchmark", False),
    lambda: backends.cudnn.set_flags(_enabled=False),
    lambda: backends.reset(),
):
    try:
        write()
    except errors.FlagsFrozenError as error:
        result.append("freeze_one_way.py:7" in str(error))
with backends.cudnn.flags(enabled=False):
    result.append(backends.cudnn.enabled)
result += [backends.cudnn.benchmark, backends.cudnn.enabled, backends.flags_frozen()]

print("\n" + json.dumps(result))
