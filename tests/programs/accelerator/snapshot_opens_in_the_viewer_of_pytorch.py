import json
import sys

from many_allocations_setup import *

(dumped,) = map(json.loads, sys.argv[1:])

memory.dump_snapshot(dumped)
