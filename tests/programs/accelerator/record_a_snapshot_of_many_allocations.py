import json
import sys

from many_allocations_setup import *

(recorded,) = map(json.loads, sys.argv[1:])

memory.dump_snapshot(recorded)
