"""Memory that only the hook of a dropped tensor owns is free for the next buffer."""

import interlock
from interlock import accelerator

accelerator.use("host", memory=64 << 20)


def drop():
    leaf = interlock.ones(3, requires_grad=True)
    held = interlock.ones(10 << 20, device="host:0")
    leaf.register_hook(lambda grad, held=held: None)


drop()
accelerator.memory.Buffer(40 << 20)
print("ok")
