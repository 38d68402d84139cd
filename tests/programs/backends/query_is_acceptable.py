import json
import warnings

import interlock
from interlock.backends import cudnn


class Stand:
    def __init__(self, device, dtype):
        self.device, self.dtype = interlock.device(device), dtype


def ask(device, dtype):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return [cudnn.is_acceptable(Stand(device, dtype)), [each.category.__name__ for each in caught]]


result = [ask("cuda:0", interlock.float32), ask("cuda", interlock.int64), ask("cpu", interlock.float32)]
with cudnn.flags(enabled=False):
    result.append(ask("cuda", interlock.float32))

print("\n" + json.dumps(result))
