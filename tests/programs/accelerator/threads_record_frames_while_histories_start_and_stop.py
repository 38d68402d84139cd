import json
import threading

from interlock import accelerator
from interlock.accelerator import memory

accelerator.use("host")


def allocates():
    for _ in range(300):
        memory.Buffer(600)


def looks():
    for _ in range(30):
        with memory.history(50):
            memory.snapshot()


threads = [threading.Thread(target=work) for work in (allocates, allocates, looks)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with memory.history(50):
    allocates()
    [trace] = memory.snapshot()["device_traces"]
names = {entry["frames"][0]["name"] for entry in trace if entry["action"] == "alloc"}
result = [len(trace), sorted(names)]

print("\n" + json.dumps(result))
