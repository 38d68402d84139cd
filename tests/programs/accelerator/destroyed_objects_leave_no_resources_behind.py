import json

from faults_setup import *


def use():
    stream, event, graph = interlock.Stream(dedicated=True), interlock.Event(), accelerator.Graph()
    buffer = Buffer(64)
    with stream, graph:
        fill_(buffer, 1)
        accelerator.launch(stream, len, "abc")
    with stream:
        graph.replay()
    event.record(stream)
    interlock.Stream(dedicated=True).wait_event(event)
    copy_(bytearray(64), buffer, stream=stream)
    stream.synchronize()


use()
before = faults.live_objects()
for _ in range(20):
    use()
gc.collect()
accelerator.synchronize()
after = faults.live_objects()
names = ("streams", "events", "graphs", "executables", "captures", "commands", "bytes")
result = [[before[name], after[name]] for name in names]

print("\n" + json.dumps(result))
