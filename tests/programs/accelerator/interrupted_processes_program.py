import builtins
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time

import interlock
from interlock import accelerator
from interlock.accelerator import memory

(seed,) = map(json.loads, sys.argv[1:])

chance = random.Random(seed)
streams = [interlock.Stream(index % 2, dedicated=index > 3) for index in range(6)]
buffers = [memory.Buffer(1 << 12, index) for index in range(2)]


def graph():
    stream, recorded = interlock.Stream(0), accelerator.Graph(capture_error_mode="relaxed")
    with stream:
        recorded.capture_begin()
        memory.fill_(buffers[0], 1)
        recorded.capture_end()
        recorded.replay()


def too_much():
    with memory.on_oom(lambda error: False):
        memory.Buffer(1 << 50)


def step(chance):
    stream, index = chance.choice(streams), chance.randrange(2)
    action = chance.choice(
        [
            lambda: memory.fill_(buffers[index], 1),
            lambda: memory.copy_(bytearray(1 << 12), buffers[index]),
            lambda: memory.copy_(buffers[0], buffers[1], non_blocking=True),
            lambda: accelerator.launch(stream, time.sleep, 0.0001),
            lambda: chance.choice(streams).wait_event(stream.record_event()),
            lambda: stream.record_event().synchronize(),
            lambda: accelerator.synchronize(index),
            lambda: interlock.ones(8, device=f"host:{index}").sum().item(),
            accelerator.empty_cache,
            graph,
            too_much,
        ]
    )
    with contextlib.suppress(RuntimeError):
        action()


def steps(chance, count):
    for _ in range(count):
        step(chance)


class Late:
    def __del__(self, steps=steps, chance=chance):
        steps(chance, 10)


def interrupt():
    for _ in range(5):
        time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)


armed = []


def handler(*_):
    # Only during the steps, and once.
    if armed:
        armed.clear()
        raise KeyboardInterrupt


signal.signal(signal.SIGINT, handler)
builtins.late = Late()
for number in range(2):
    threading.Thread(target=steps, args=(random.Random(number), sys.maxsize), daemon=True).start()
interrupts = threading.Thread(target=interrupt)
interrupts.start()
while interrupts.is_alive():
    with contextlib.suppress(KeyboardInterrupt):
        armed.append(True)
        steps(chance, 5)
        armed.clear()
for _ in range(3):
    forked = os.fork()
    if forked == 0:
        signal.alarm(30)
        steps(chance, 10)
        sys.exit(0)
    assert os.waitpid(forked, 0)[1] == 0
os.write(1, b"end")
