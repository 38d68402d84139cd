import atexit
import threading

import interlock
from interlock import accelerator

atexit._run_exitfuncs()
stream, seen = interlock.Stream(), []
thread = threading.Thread(target=lambda: seen.append(accelerator.device_count()))
thread.start()
thread.join()
accelerator.launch(stream, seen.append, 1)
stream.synchronize()
print(seen)
