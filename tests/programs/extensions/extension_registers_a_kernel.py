"""The kernel of the extension multiplies the matrices that it accepts, and records name it."""

import interlock
from interlock import backends, dispatch
from loaded import extension

name = extension.__name__
x = interlock.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = interlock.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

with dispatch.record() as calls:
    product = x @ y
    (x.detach().t() @ y.t()).sum()
assert product.tolist() == [[4.0, 5.0], [10.0, 11.0]], product
assert [call.kernel for call in calls] == [name, name], calls

# The transposed operands have other strides.
expected = (x.detach().double().t() @ y.double().t()).tolist()
assert (x.detach().t() @ y.t()).tolist() == expected

# Products of the backward pass, too.
with dispatch.record() as calls:
    product.sum().backward()
assert x.grad.tolist() == [[1.0, 1.0, 2.0]] * 2, x.grad
assert [call.kernel for call in calls] == [name], calls

# What the condition refuses, and what the flag of the extension switches off, runs elsewhere.
explained = dispatch.explain("matmul", x.double(), y.double())
assert explained.kernel == "native"
assert str(explained.considered[0]) == f"{name}: needs matrices of float32 on the CPU", explained
with backends.override(**{f"{name}.matmul": False}):
    explained = dispatch.explain("matmul", x, y)
    assert explained.kernel == "native"
    assert str(explained.considered[0]) == f"{name}: {name}.matmul is False", explained
    assert (x @ y).tolist() == product.tolist()
assert "obeyed by matmul" in backends.explain(f"{name}.matmul").affects
print("ok")
