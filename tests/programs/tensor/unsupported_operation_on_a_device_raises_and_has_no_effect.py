import json

import interlock
from interlock import accelerator, errors, testing

faults = testing.FaultInjector()
accelerator.use("host", devices=2, faults=faults)
x = interlock.ones(2, device="host:0")
here, reported = interlock.ones(2), []


def tried(use):
    try:
        reported.append(str(use()))
    except Exception as error:
        reported.append(type(error).__name__)


faults.fail_next_copy("broken")
tried(lambda: here.to("host:0"))
faults.fail_next_copy("broken")
tried(lambda: here.copy_(x))
faults.fail_next_launch("broken")
y = x * 2
tried(y.tolist)
large = interlock.ones(2_000_000, dtype=interlock.float64, device="host:0")
accelerator.memory.set_limit(0)
tried(lambda: large + 1)
tried(lambda: large.add_(interlock.ones(2_000_000, dtype=interlock.float64, device="host:0")))
reported.append([x.tolist(), x._version, here._version + large._version])
faults.lose_device(0, "gone")
tried(lambda: x + 1)
tried(x.tolist)
result = reported

print("\n" + json.dumps(result))
