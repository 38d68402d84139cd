import json
import warnings

import interlock
from interlock.backends import cudnn


class FakeTensor:
    def __init__(self, device, dtype):
        self.device, self.dtype = interlock.device(device), dtype


def query(device, dtype):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return [cudnn.is_acceptable(FakeTensor(device, dtype)), [each.category.__name__ for each in caught]]


result = [query("cuda:0", interlock.float32), query("cuda", interlock.int64), query("cpu", interlock.float32)]
with cudnn.flags(enabled=False):
    result.append(query("cuda", interlock.float32))

print("\n" + json.dumps(result))
