import json
import os

import interlock
from interlock import backends

before = backends.cudnn.enabled
os.environ["INTERLOCK_CUDNN_ENABLED"] = "1"
os.environ["INTERLOCK_CUDNN_BENCHMARK"] = "1"
result = [before, backends.cudnn.enabled, backends.cudnn.benchmark]
backends.reset()
result += [backends.cudnn.enabled, backends.cudnn.benchmark]

print("\n" + json.dumps(result))
