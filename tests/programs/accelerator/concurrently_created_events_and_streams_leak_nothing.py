import gc
import json
import threading

import interlock
from interlock import accelerator, testing

faults = testing.FaultInjector()
accelerator.use("host", devices=2, faults=faults)
stream = interlock.Stream(dedicated=True)


def record(event, barrier):
    barrier.wait()
    event.record(stream)


for _ in range(50):
    event, barrier = interlock.Event(), threading.Barrier(8)
    threads = [threading.Thread(target=record, args=(event, barrier)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del event
gc.collect()
result = faults.live_objects()["events"]

print("\n" + json.dumps(result))
