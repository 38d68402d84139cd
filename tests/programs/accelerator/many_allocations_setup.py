import random

import interlock
from interlock import accelerator, errors
from interlock.accelerator import memory

accelerator.use("host", memory=64 << 20)
memory.history(None)
draw, kept = random.Random(5), []
streams = [interlock.Stream() for _ in range(3)] + [accelerator.current_stream()]
for step in range(400):
    with draw.choice(streams):
        try:
            kept.append(memory.Buffer(draw.randrange(1, draw.choice([3000, 1 << 20, 3 << 20, 14 << 20]))))
        except errors.OutOfMemoryError:
            del kept[: len(kept) // 2]
        if kept and (len(kept) > 24 or draw.random() < 0.3):
            buffer = kept.pop(draw.randrange(len(kept)))
            memory.fill_(buffer, 1, stream=draw.choice(streams))
            del buffer
