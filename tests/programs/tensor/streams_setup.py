import os
import signal
import threading
import time

import interlock
from interlock import accelerator

signal.signal(signal.SIGINT, signal.default_int_handler)
x = interlock.ones(2, device="host:0")
stream = accelerator.current_stream("host:0")
open_it, beats, done = threading.Event(), [], threading.Event()
accelerator.launch(stream, open_it.wait)
