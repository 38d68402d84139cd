"""Multiply two matrices on the CPU and on a host device."""

import interlock
from interlock import accelerator

accelerator.use("host")
for device in ("cpu", "host:0"):
    interlock.ones(2, 3, device=device) @ interlock.ones(3, 2, device=device)
accelerator.synchronize()
