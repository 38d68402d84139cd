import json

import interlock
from interlock import backends

result = [
    backends.cudnn.conv.fp32_precision,
    backends.cudnn.rnn.fp32_precision,
    backends.mkldnn.matmul.fp32_precision,
    backends.cudnn.allow_tf32,
]
backends.cudnn.fp32_precision = "tf32"
result += [backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision]

print("\n" + json.dumps(result))
