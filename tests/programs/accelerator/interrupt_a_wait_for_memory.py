import json
import os
import signal
import sys
import threading

import interlock
from interlock import accelerator, testing
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

(call,) = map(json.loads, sys.argv[1:])

# Processes in the background may inherit SIGINT as ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
faults = testing.FaultInjector()
accelerator.use("host", memory=64 << 20, faults=faults)
empty = faults.live_objects()["bytes"]
own, other, opened = interlock.Stream(), interlock.Stream(dedicated=True), threading.Event()
buffer = Buffer(40 << 20, stream=own)
begun = threading.Event()
accelerator.launch(other, lambda: (begun.set(), opened.wait()))
begun.wait()
buffer.record_stream(other)
buffer.close()


def press():
    # The allocator waits for the other stream once it releases all cached blocks.
    while accelerator.memory_stats()["num_sync_all_streams"] == 0:
        opened.wait(0.001)
    os.kill(os.getpid(), signal.SIGINT)


finger = threading.Thread(target=press)
result = []
try:
    finger.start()
    # An interrupted `exec` of text would make CPython end with SIGINT.
    exec(compile(call, "call", "exec"))
except KeyboardInterrupt as error:
    result.append([str(error), type(error.__context__).__name__])
finger.join()
result.append([accelerator.memory_allocated(), accelerator.memory_reserved()])
opened.set()
other.synchronize()
again = Buffer(40 << 20)
result.append([accelerator.memory_allocated(), accelerator.memory_reserved()])
again.close()
accelerator.empty_cache()
result.append([accelerator.memory_reserved(), faults.live_objects()["bytes"] - empty])

print("\n" + json.dumps(result))
