import atexit
import ctypes

import interlock
from interlock import accelerator
from interlock.accelerator.memory import Buffer, fill_

stream, buffer, pinned = interlock.Stream(dedicated=True), Buffer(1 << 20), bytearray(8)
kept = [stream.record_event(interlock.Event()) for _ in range(3)]
fill_(buffer, 1, stream=stream)
accelerator.launch(stream, len, "abc")
ctypes.CDLL("libcuda.so.1").fake_cuda_break_device(0, 719)
print("end")
