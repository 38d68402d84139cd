import json
import os

import interlock
from interlock import accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

kept, freed = Buffer(3 << 20), Buffer(100)
freed.close()
with memory.MemoryTracker() as tracker:
    Buffer(1000)
    reading, writing = os.pipe()
    if os.fork() == 0:
        reported = [accelerator.memory_allocated(), accelerator.memory_reserved()]
        for use in (
            lambda: kept.fill_(1),
            lambda: memoryview(kept),
            lambda: kept.stream,
            lambda: tracker.total,
            kept.__dlpack__,
        ):
            try:
                use()
                reported.append("nothing")
            except Exception as error:
                reported.append(type(error).__name__)
        del kept
        buffer = Buffer(1)
        reported += [accelerator.memory_allocated(), accelerator.memory_reserved()]
        reported.append(bytes(buffer.fill_(1))[0])
        tracker.__exit__(None, None, None)
        os.write(writing, json.dumps(reported).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        result = json.loads(pipe.read())
result.append([accelerator.memory_allocated(), tracker.total])

print("\n" + json.dumps(result))
