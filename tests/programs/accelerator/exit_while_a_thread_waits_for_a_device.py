import json
import sys
import threading
import time

import interlock
from interlock import accelerator

(pause,) = map(json.loads, sys.argv[1:])

stream = interlock.Stream()
accelerator.launch(stream, threading.Event().wait)
waits = (stream.synchronize, accelerator.synchronize, stream.record_event().synchronize)
for wait in waits:
    threading.Thread(target=wait, daemon=True).start()
time.sleep(pause)
