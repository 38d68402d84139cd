import json
import sys

import interlock
import numpy

(link,) = map(json.loads, sys.argv[1:])

leaf = interlock.ones((), requires_grad=True)
t = interlock.ones(2)
for _ in range(200_000):
    exec(link)
del t
n = None
result = True

print("\n" + json.dumps(result))
