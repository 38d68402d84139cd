import threading
import time

import interlock
from interlock import accelerator

stream, never = interlock.Stream(), threading.Event()
accelerator.launch(stream, never.wait)
for _ in range(8):
    threading.Thread(target=stream.synchronize, daemon=True).start()
time.sleep(0.1)
print("end")
