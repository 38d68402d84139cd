import json

from faults_setup import *

slow, quick, buffer = interlock.Stream(dedicated=True), interlock.Stream(dedicated=True), Buffer(4)
back, seen = bytearray(4), []
copy_(buffer, b"slow")
with faults.pause_copies() as paused:
    copy_(back, buffer, non_blocking=True, stream=slow)
    accelerator.launch(slow, seen.append, "slow")
    accelerator.launch(quick, seen.append, "quick")
    quick.synchronize()
    held = [slow.query(), bytes(back) == bytes(4), list(seen)]
    stepped = [paused.step(), paused.step()]
    slow.synchronize()
result = [held, stepped, back.decode(), seen]

print("\n" + json.dumps(result))
