import json
import sys

from snapshot_heavy import *

(dumped,) = map(json.loads, sys.argv[1:])

memory.dump_snapshot(dumped)
