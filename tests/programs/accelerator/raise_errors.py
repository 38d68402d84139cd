import json
import sys

import interlock
from interlock import accelerator, backends, testing
from interlock.accelerator import memory

table, calls = map(json.loads, sys.argv[1:])
names = {"interlock": interlock, "accelerator": accelerator, "backends": backends, "memory": memory}
names["testing"] = testing
if table == "host driver":
    names["faults"] = testing.FaultInjector()
    accelerator.use("host", devices=2, memory=64 << 20, faults=names["faults"])
    names["buffer"], names["viewed"], names["closed"] = (memory.Buffer(8) for _ in range(3))
    view = memoryview(names["viewed"])
    names["closed"].close()
if table == "lost device":
    faults = testing.FaultInjector()
    accelerator.use("host", faults=faults)
    interlock.Stream()
    faults.lose_device(0, "unplugged")


def raised(call):
    try:
        return ["no error", repr(eval(call, names))]
    except Exception as error:
        return [type(error).__name__, str(error)]


print("\n" + json.dumps({call: raised(call) for call in calls}))
