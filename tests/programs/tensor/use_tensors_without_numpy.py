import sys

import interlock

x = interlock.tensor([[1.0, 2.0]], requires_grad=True)
(x @ x.T).sum().backward()
repr(x), x.tolist(), x[0, 1], x.grad.data_ptr()
assert "numpy" not in sys.modules
