import json
import sys

from out_of_memory_setup import *

(room, operation) = map(json.loads, sys.argv[1:])

limit(room)
try:
    exec(operation)
except MemoryError:
    pass
else:
    raise AssertionError("there was room")
lift_limit()
assert ones(2).tolist() == [1, 1]
