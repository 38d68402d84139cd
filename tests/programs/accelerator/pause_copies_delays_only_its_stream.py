import json

from faults_setup import *

slow, quick, buffer = interlock.Stream(exclusive=True), interlock.Stream(exclusive=True), Buffer(4)
back, seen = bytearray(4), []
copy_(buffer, b"slow")
with faults.hold_copies() as hold:
    copy_(back, buffer, non_blocking=True, stream=slow)
    accelerator.launch(slow, seen.append, "slow")
    accelerator.launch(quick, seen.append, "quick")
    quick.synchronize()
    held = [slow.query(), bytes(back) == bytes(4), list(seen)]
    stepped = [hold.step(), hold.step()]
    slow.synchronize()
result = [held, stepped, back.decode(), seen]

print("\n" + json.dumps(result))
