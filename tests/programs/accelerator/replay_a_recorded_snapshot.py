import json
import pickle
import sys

from interlock import accelerator
from interlock.accelerator import memory

(recorded, repeated) = map(json.loads, sys.argv[1:])

accelerator.use("host", memory=64 << 20)
with open(recorded, "rb") as file:
    taken = pickle.load(file)
memory.history(None)
result = memory.replay(taken)
memory.dump_snapshot(repeated)

print("\n" + json.dumps(result))
