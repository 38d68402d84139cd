"""Open the event whose handle is read from standard input and wait for it."""

import sys

from interlock import Event, accelerator

event = Event.from_ipc_handle(0, bytes.fromhex(sys.stdin.readline()))
print("opened", flush=True)
sys.stdin.readline()
print(event.query(), flush=True)
event.synchronize()
print(event.query(), flush=True)
