"""Use the devices of the example driver from Python.

Run it with the driver: `cargo run -p embed_host -- --example-driver examples/driver/devices.py`
"""

import interlock
from interlock import accelerator
from interlock.accelerator import Event, Stream
from interlock.accelerator.memory import Buffer, copy_, fill_
from interlock.errors import UnsupportedError

print("accelerator:", accelerator.current_accelerator(), "with", accelerator.device_count(), "devices")
properties = accelerator.device_properties("example:1")
print(f"properties: {properties.name}, {properties.total_memory >> 20} MiB")

# The second stream waits for the fill on the first stream before it copies the bytes.
first, second = Stream("example:1"), Stream("example:1")
buffer, received = Buffer(4, "example:1"), bytearray(4)
event = Event("example:1", enable_timing=True)
fill_(buffer, 7, stream=first)
event.record(first)
second.wait_event(event)
copy_(received, buffer, stream=second)
second.synchronize()
print("received:", list(received), "after an event that has completed:", event.query())

# The device computes a tensor; the stream runs the operations as host functions.
tensor = interlock.arange(4, dtype=interlock.float32, device="example:0") * 2
accelerator.synchronize()
print("tensor:", tensor.device, tensor.tolist())

# An operation that the driver does not implement raises an error that names it.
try:
    event.elapsed_time(event)
except UnsupportedError as error:
    print("unsupported:", error)
