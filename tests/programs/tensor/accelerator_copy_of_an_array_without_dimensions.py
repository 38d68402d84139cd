import numpy as np
from interlock import accelerator
from interlock.accelerator.memory import Buffer, copy_

accelerator.use("host")
buffer, array = Buffer(8), np.array(0.0)
copy_(buffer, np.array(1.5))
copy_(array, buffer)
assert array == 1.5
