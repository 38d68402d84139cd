import json

from interlock import accelerator
from interlock.accelerator import memory


def refusals():
    reported = []
    for wrong in (99, -2, True, "cpu", 1.5):
        for query in (accelerator.memory_reserved, accelerator.memory_stats, memory.fragmentation):
            try:
                reported.append(str(query(wrong)))
            except Exception as error:
                reported.append(type(error).__name__)
    return reported


result = [dict(accelerator.memory_stats(0)), refusals()]
if accelerator.is_available():
    buffer = memory.Buffer(1)
    result += [dict(accelerator.memory_stats(0)), refusals()]

print("\n" + json.dumps(result))
