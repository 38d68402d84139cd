import atexit
import json
import os
import random
import signal
import sys
import threading
import time

atexit.register(lambda: print("registered before", flush=True))
import interlock
from interlock import accelerator
from interlock.accelerator.memory import Buffer, copy_, fill_

atexit.register(lambda: print("registered after"))

(number, leave) = map(json.loads, sys.argv[1:])

chance = random.Random(number)
never = threading.Event()
streams = [interlock.Stream(index % 2, dedicated=chance.random() < 0.5) for index in range(4)]
buffers = [Buffer(1 << 16, index) for index in range(2)]
kept = []


def spin():
    while True:
        pass


for step in range(chance.randrange(5, 40)):
    stream, what = chance.choice(streams), chance.randrange(7)
    if what == 0:
        kept.append(stream.record_event(interlock.Event(enable_timing=True)))
    elif what == 1 and kept:
        stream.wait_event(chance.choice(kept))
    elif what == 2:
        copy_(buffers[stream.device_index], os.urandom(1 << 16), non_blocking=True, stream=stream)
    elif what == 3:
        copy_(bytearray(1 << 16), buffers[stream.device_index], non_blocking=True, stream=stream)
    elif what == 4:
        accelerator.launch(stream, chance.choice((never.wait, spin, os.getpid, os.getpid, os.getpid)))
    elif what == 5:
        buffer = chance.choice(buffers)
        fill_(buffer, 1, stream=interlock.accelerator.current_stream(buffer.device))
    else:
        threading.Thread(target=chance.choice(streams).synchronize, daemon=True).start()
sys.stdout.write("not flushed ")
exec(leave)
