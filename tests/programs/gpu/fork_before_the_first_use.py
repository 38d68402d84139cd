import json
import os

from interlock import accelerator
from interlock.accelerator.memory import Buffer

counted = [accelerator.is_available(), accelerator.device_count(), accelerator.unavailable_reason()]
reading, writing = os.pipe()
if os.fork() == 0:
    back = bytearray(4)
    Buffer(4).fill_(7).copy_to(back)
    os.write(writing, back)
    os._exit(0)
os.close(writing)
reported = list(os.read(reading, 4))
os.wait()
# The parent can use the device afterwards, too.
accelerator.synchronize()
result = [counted[0], counted[1] > 0, counted[2], reported]

print("\n" + json.dumps(result))
