import json
import os

import interlock
from interlock import errors

x = interlock.ones(2, device="host", requires_grad=True)
y = (x * 2).sum()
y.item()
uses = [
    x.tolist,
    lambda: x + 1,
    lambda: x.to("cpu"),
    lambda: repr(x),
    lambda: x.detach().zero_(),
    lambda: x.detach().copy_(interlock.ones(2)),
    lambda: y.backward(),
    lambda: interlock.ones_like(x) * x.detach(),
]
reading, writing = os.pipe()
process = os.fork()
if process == 0:
    reported = []
    for use in uses:
        try:
            use()
            reported.append("nothing")
        except Exception as error:
            reported.append(type(error).__name__)
    fresh = (interlock.ones(2, device="host") * 3).tolist()
    shape = (x.shape, str(x.device), x.t().shape)
    os.write(writing, repr((reported, fresh, shape)).encode())
    os._exit(0)
os.waitpid(process, 0)
reported, fresh, shape = eval(os.read(reading, 1000))
result = [sorted(set(reported)), fresh, str(shape), x.tolist()]

print("\n" + json.dumps(result))
