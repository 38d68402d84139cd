"""Choose a kernel of attention that the program which embeds Python has registered."""

import json

import interlock
from interlock import accelerator, dispatch
from interlock.nn.attention import SDPBackend, sdpa_kernel
from interlock.nn.functional import scaled_dot_product_attention

accelerator.use("host")
keys = interlock.tensor([[[[1.0, 2.0], [3.0, 4.0], [5.0, -6.0]]]], device="host:0", requires_grad=True)
query = keys[:, :, :1]


def run():
    """Return the kernel, and the result with its gradient."""
    with dispatch.record() as calls:
        out = scaled_dot_product_attention(query, keys, keys)
    (gradient,) = interlock.autograd.grad(out.sum(), keys)
    return calls[-1].kernel, [round(each, 5) for each in out.flatten().tolist() + gradient.flatten().tolist()]


default, expected = run()
with sdpa_kernel(SDPBackend.OVERRIDEABLE):
    chosen, found = run()
    for_three = dispatch.explain("scaled_dot_product_attention", keys, keys, keys).kernel
with sdpa_kernel([SDPBackend.OVERRIDEABLE, SDPBackend.MATH], set_priority=True):
    order = dispatch.explain("scaled_dot_product_attention", query, keys, keys).considered
result = {
    "by default": default,
    "overrideable": chosen,
    "same results": found == expected,
    "overrideable for three queries": for_three,
    "first of the priority": [one.kernel for one in order],
}
print(json.dumps(result))
