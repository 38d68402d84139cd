"""Print the arithmetic of a product on a host device under the TF32 precision."""

import json

import interlock
from interlock import accelerator, backends, dispatch

accelerator.use("host")
x = interlock.ones(2, 2, device="host:0")
with backends.override({"cuda.matmul.fp32_precision": "tf32"}):
    print(json.dumps(dispatch.explain("matmul", x, x).inputs))
