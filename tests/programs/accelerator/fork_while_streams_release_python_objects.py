import json
import os
import threading

import interlock
from interlock import accelerator
from interlock.accelerator.memory import Buffer, copy_

ended = threading.Event()


def work():
    stream, buffer = interlock.Stream(dedicated=True), Buffer(64)
    while not ended.is_set():
        for _ in range(50):
            copy_(buffer, bytes(64), non_blocking=True, stream=stream)
            accelerator.launch(stream, lambda: None)
        stream.synchronize()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
result = []
for _ in range(150):
    process = os.fork()
    if process == 0:
        bytes(accelerator.device_count())
        os._exit(0)
    result.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
ended.set()
for thread in threads:
    thread.join()

print("\n" + json.dumps(result))
