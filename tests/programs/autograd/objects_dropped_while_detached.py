"""A garbage collection releases objects that a detached thread has dropped."""

import gc
import threading
import weakref

import interlock
from interlock import accelerator

accelerator.use("host")


class Held:
    pass


stream = accelerator.Stream()
begun, opened = threading.Event(), threading.Event()


def launch(held):
    accelerator.launch(stream, lambda: (begun.set(), opened.wait(30)) and None)
    # The stream owns the arguments until it has called the function.
    accelerator.launch(stream, lambda held: None, held)


held = Held()
reference = weakref.ref(held)
launch(held)
del held
begun.wait(30)
gc.collect()
assert reference() is not None
opened.set()
while not stream.query():
    pass
gc.collect()
assert reference() is None
print("ok")
