"""Memory that the extension allocates is counted by interlock, and its work runs on the current stream."""

import interlock
from interlock import accelerator
from interlock.accelerator import memory
from loaded import extension

accelerator.use("host", devices=2)
assert extension.count(1000) == 499_500
with memory.MemoryTracker("host:0") as tracker:
    assert extension.count(4096) == 4096 * 4095 // 2
# Numbers of eight bytes, which are freed again.
assert (tracker.peak, tracker.allocations) == (4096 * 8, 1), tracker
assert tracker.current == 0, tracker
stream = interlock.Stream("host:1")
with stream:
    # The work waits for the work that the stream has.
    seen = []
    accelerator.launch(stream, seen.append, "before")
    assert extension.count(10) == 45
    assert seen == ["before"]
    assert memory.memory_allocated("host:1") == 0
memory.set_limit("25%", "host:0")
# The bytes of the second number wrap to 8 in 64 bits.
for number in (1 << 40, (1 << 61) + 1):
    try:
        extension.count(number)
    except interlock.OutOfMemoryError as error:
        assert "host:0" in str(error), error
    else:
        raise AssertionError("there is not so much memory")
assert extension.count(10) == 45
print("ok")
