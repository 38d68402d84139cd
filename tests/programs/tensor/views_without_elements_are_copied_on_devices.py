import interlock
from interlock import accelerator

accelerator.use("host")
x = interlock.zeros(0, 4, device="host:0")
x[:, 2:].copy_(interlock.zeros(0, 2))
assert interlock.zeros(2, 0, device="host:0")[1:].cpu().shape == (1, 0)
assert x[:, 2:].clone().shape == (0, 2)
