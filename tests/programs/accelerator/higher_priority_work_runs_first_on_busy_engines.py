import json

from faults_setup import *

blockers = [interlock.Stream(dedicated=True) for _ in range(2)]
low, high = (interlock.Stream(priority=priority, dedicated=True) for priority in (0, -1))
buffers, order = [Buffer(4) for _ in range(4)], []
paused = faults.pause_copies()
names = ("first", "first", "low", "high")
for stream, buffer, name in zip((*blockers, low, high), buffers, names):
    copy_(buffer, b"1234", non_blocking=True, stream=stream)
    accelerator.launch(stream, order.append, name)
for stream in (*blockers, high, low):
    paused.step()
    stream.synchronize()
paused.release()
result = order

print("\n" + json.dumps(result))
