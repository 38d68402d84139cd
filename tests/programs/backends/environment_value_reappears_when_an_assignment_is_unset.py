import json

from interlock import backends

level = lambda: [backends.cudnn.enabled, str(backends.explain("cudnn.enabled").level)]
result = [level()]
backends.cudnn.enabled = True
result.append(level())
with backends.override(**{"cudnn.enabled": False}):
    result.append(level())
    del backends.cudnn.enabled
    result.append(backends.cudnn.enabled)
result.append(level())
del backends.cudnn.enabled
result.append(level())
backends.cudnn.enabled = True
backends.reset()
result.append(level())

print("\n" + json.dumps(result))
