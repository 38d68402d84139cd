import json
import os
import signal
import sys
import threading
import time

import interlock
from interlock import accelerator

(blocking, wait) = map(json.loads, sys.argv[1:])

# A shell makes background processes ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
release = threading.Event()
stream = interlock.Stream()
accelerator.launch(stream, release.wait)
event = stream.record_event(interlock.Event(blocking=blocking))
sent = []


def send():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=send).start()
try:
    # An interrupted `exec` of text would make CPython end with SIGINT.
    exec(compile(wait, "wait", "exec"))
except KeyboardInterrupt:
    result = time.monotonic() - sent[0]
release.set()
stream.synchronize()

print("\n" + json.dumps(result))
