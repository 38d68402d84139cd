import json

from interlock import backends

taken = backends.snapshot()
backends.cudnn.enabled = True
backends.restore(taken)
result = list(backends.explain("cudnn.enabled")[1:3])

print("\n" + json.dumps(result))
