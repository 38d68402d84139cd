import json

from interlock import backends

result = [backends.explain("cudnn.enabled").set_by]
backends.cudnn.enabled = False  # assigned
result.append(backends.explain("cudnn.enabled").set_by)
with backends.override(**{"cudnn.enabled": True}):  # scoped
    result.append(backends.explain("cudnn.enabled").set_by)
result.append(backends.explain("cudnn.enabled").set_by)
del backends.cudnn.enabled
result.append(backends.explain("cudnn.enabled").set_by)

print("\n" + json.dumps(result))
