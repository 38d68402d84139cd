"""Threads of the extension use flags and devices until the process exits, and its objects in destructors."""

import builtins
import time

from loaded import extension


class LastWords:
    """Lives until the interpreter clears `builtins`."""

    def __init__(self, extension, default):
        self.extension = extension
        self.default = default

    def __del__(self):
        assert self.extension.call_with(True, False, self.extension.level) == -1
        assert self.extension.state() == self.default


builtins.last_words = LastWords(extension, (False, True))
for _ in range(2):
    extension.start_thread()
time.sleep(0.05)
print("ok")
