import threading

import interlock
from interlock import accelerator


class ReportsItsEnd:
    def __call__(self):
        pass

    def __del__(self):
        print("gone")


stream = interlock.Stream()
accelerator.launch(stream, threading.Event().wait)
accelerator.launch(stream, ReportsItsEnd())
