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

(number, leave) = map(json.loads, sys.argv[1:])

chance, never, kept = random.Random(number), threading.Event(), []


class ReportsItsEnd:
    def __call__(self):
        return len("abc")


def recorded(device):
    stream, buffer = interlock.Stream(device, dedicated=True), Buffer(64, device)
    graph = accelerator.Graph(capture_error_mode="relaxed")
    with stream, graph:
        fill_(buffer, 3)
        accelerator.launch(stream, ReportsItsEnd())
    return stream, graph, buffer


def use(chance, device, everything):
    stream, graph, buffer = everything
    event = interlock.Event(enable_timing=True)
    for step in range(chance.randrange(3, 20)):
        what = chance.randrange(6)
        if what == 0:
            event.record(stream)
        elif what == 1:
            copy_(buffer, os.urandom(64), non_blocking=True, stream=stream)
        elif what == 2:
            copy_(bytearray(64), buffer, non_blocking=True, stream=stream)
        elif what == 3:
            accelerator.launch(stream, chance.choice((never.wait, ReportsItsEnd(), ReportsItsEnd())))
        elif what == 4:
            with stream:
                graph.replay()
        else:
            kept.append(stream.record_event(interlock.Event()))
    kept.append((stream, graph, buffer, event))
    # Most never return.
    stream.synchronize() if chance.random() < 0.7 else None


def use_until_exit(chance, device, everything):
    try:
        use(chance, device, everything)
    except RuntimeError as error:
        # A function cannot be launched while the interpreter is finalized.
        if "finalized" not in str(error):
            raise


everything = [recorded(index % 2) for index in range(3)]
for index in range(2):
    own = random.Random(number + 1000 * index)
    threading.Thread(target=use_until_exit, args=(own, index, everything[index]), daemon=True).start()
kept.append(everything)
stream = everything[2][0]
for step in range(chance.randrange(10)):
    accelerator.launch(stream, chance.choice((never.wait, ReportsItsEnd())))
sys.stdout.write("not flushed ")
exec(leave)
