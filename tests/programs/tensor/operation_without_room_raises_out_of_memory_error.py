import json
import sys

from out_of_memory_setup import *

(room, operation) = map(json.loads, sys.argv[1:])

limit(room)
try:
    exec(operation)
except OutOfMemoryError as error:
    assert isinstance(error, RuntimeError), error
    assert error.requested > 0, error
else:
    raise AssertionError("there was room")
lift_limit()
assert ones(3).sum().item() == 3
