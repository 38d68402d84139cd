import json

from interlock import accelerator
from interlock.accelerator import memory

asked = [memory.history(), memory.history(device="host:0"), memory.history(0)]
recording = memory.history(stacks=None, device="host:0")
empty = memory.snapshot()
settings = empty.pop("allocator_settings")
accelerator.use("host", devices=2)
kept = [memory.Buffer(8, "host:0"), memory.Buffer(8, "host:1")]
traces = memory.snapshot()["device_traces"]
result = [empty, [[entry["action"] for entry in trace] for trace in traces], settings["backend"]]

print("\n" + json.dumps(result))
