import os
import signal
import threading

import interlock
from interlock import accelerator

release, handled = threading.Event(), []
signal.signal(signal.SIGUSR1, lambda *_: (handled.append(1), release.set()))
stream = interlock.Stream()
accelerator.launch(stream, release.wait)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
stream.synchronize()
print(handled, stream.query())
