import json

from faults_setup import *

stream, other, never = interlock.Stream(1), interlock.Stream(0), threading.Event()
buffer, begun = Buffer(8, 1), threading.Event()
accelerator.launch(stream, lambda: (begun.set(), never.wait()))
begun.wait()
outcome = []
waiter = threading.Thread(target=lambda: outcome.append(raised(stream.synchronize)))
waiter.start()
faults.lose_device(1, "it fell off the bus")
waiter.join(20)
calls = [
    stream.query,
    stream.record_event,
    lambda: accelerator.launch(stream, print),
    lambda: fill_(buffer, 1),
    lambda: copy_(bytearray(8), buffer),
    lambda: Buffer(3 << 20, 1),
    lambda: Buffer(8, 1),
    lambda: Buffer(0, 1),
    lambda: interlock.Event().record(stream),
    lambda: accelerator.synchronize(1),
    lambda: accelerator.get_memory_info(1),
]
result = [outcome, [raised(call) for call in calls], raised(other.synchronize), raised(Buffer, 8, 0)]
buffer = None
gc.collect()

print("\n" + json.dumps(result))
