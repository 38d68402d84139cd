import json
import sys
from itertools import islice

from out_of_memory_setup import *

(room,) = map(json.loads, sys.argv[1:])

limit(room)
rows = iter(huge)
assert [row.item() for row in islice(rows, 3)] == [1, 1, 1]
assert rows.__length_hint__() == 2**40 - 3
