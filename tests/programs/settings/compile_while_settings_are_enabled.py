"""Compiles functions that write settings, while writes are recorded, and prints whether that works."""

import json
import sys

import torch
from interlock import settings
from torch.nn.attention import SDPBackend, sdpa_kernel

(enabled_first,) = map(json.loads, sys.argv[1:])
if not enabled_first:
    # The compiler stores the functions of `torch._C` at its first use.
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
settings.enable("torch")


def attend(x):
    with sdpa_kernel(SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x) * 2


def write(x):
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(1)
    with torch.no_grad():
        return x @ x


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x + 1


found = {}
x = torch.randn(1, 2, 4, 8)
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    compiled = torch.compile(attend, backend=backend, fullgraph=True)
    found[backend] = torch.allclose(compiled(x), attend(x))
found["script"] = scripted(torch.ones(1)).item() == 2
torch._dynamo.reset()
torch.compile(write, backend="eager")(torch.ones(2, 2))
found["graph_breaks"] = torch.backends.cudnn.benchmark and torch.get_num_threads() == 1
# Code that the compiler generated is attributed to the function that it was generated from.
writes = settings.writes(["torch.backends.cuda.flash_sdp"])
found["functions"] = sorted({each.function for each in writes})
found["groups"] = sorted({str(each.group) for each in writes})
print(json.dumps(found))
