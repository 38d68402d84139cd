import json
import sys
import threading
import time

import interlock
from interlock import accelerator

(wait,) = map(json.loads, sys.argv[1:])

stream, beats, ended = interlock.Stream(), [], threading.Event()


def beat():
    while not ended.wait(0.01):
        beats.append(time.monotonic())


heart = threading.Thread(target=beat)
heart.start()
accelerator.launch(stream, time.sleep, 2)
event = stream.record_event(interlock.Event(blocking=True))
began = time.process_time(), time.monotonic()
exec(wait)
busy, waited = time.process_time() - began[0], time.monotonic() - began[1]
ended.set()
heart.join()
pauses = [later - earlier for earlier, later in zip(beats, beats[1:])]
result = [len(beats), max(pauses), waited, busy]

print("\n" + json.dumps(result))
