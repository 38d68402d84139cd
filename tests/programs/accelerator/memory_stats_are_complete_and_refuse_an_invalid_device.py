import json

from interlock import accelerator
from interlock.accelerator import memory


def refusals():
    told = []
    for wrong in (99, -2, True, "cpu", 1.5):
        for ask in (accelerator.memory_reserved, accelerator.memory_stats, memory.fragmentation):
            try:
                told.append(str(ask(wrong)))
            except Exception as error:
                told.append(type(error).__name__)
    return told


result = [dict(accelerator.memory_stats(0)), refusals()]
if accelerator.is_available():
    buffer = memory.Buffer(1)
    result += [dict(accelerator.memory_stats(0)), refusals()]

print("\n" + json.dumps(result))
