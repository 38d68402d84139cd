import interlock
import numpy
from interlock import accelerator
from interlock.accelerator.memory import Buffer

accelerator.use("host")
buffer = Buffer(8).fill_(1)
kept = [memoryview(buffer), buffer.__dlpack__(), buffer.__dlpack__(max_version=(1, 0))]
kept += [numpy.from_dlpack(buffer), kept]
