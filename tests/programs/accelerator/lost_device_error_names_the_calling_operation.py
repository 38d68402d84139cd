import json

from faults_setup import *

stream, other, buffer = interlock.Stream(1), interlock.Stream(0), Buffer(8, 1)
tensor = interlock.ones(2, device="host:1")
faults.lose_device(1, "x")
calls = [
    lambda: fill_(buffer, 1),
    lambda: copy_(buffer, bytearray(8)),
    lambda: interlock.Stream(1),
    lambda: other.wait_stream(stream),
    stream.record_event,
    lambda: interlock.Event().record(stream),
    stream.is_capturing,
    lambda: Buffer(8, 1),
    lambda: tensor.mul(tensor),
]
result = [raised(call) for call in calls]

print("\n" + json.dumps(result))
