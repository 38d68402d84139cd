import os
import signal
import threading

import interlock
from interlock import accelerator

signal.signal(signal.SIGINT, signal.default_int_handler)
release, stream, back = threading.Event(), interlock.Stream(), bytearray(3)
buffer = accelerator.memory.Buffer(3)
accelerator.launch(stream, release.wait)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    accelerator.memory.copy_(back, buffer, stream=stream)
except KeyboardInterrupt:
    print("interrupted")
release.set()
stream.synchronize()
