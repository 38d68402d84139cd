import atexit

import interlock
from interlock import accelerator

stream, seen = interlock.Stream(), []


def finish():
    accelerator.launch(stream, seen.append, 1)
    stream.synchronize()
    print(seen)


atexit.register(finish)
# Python 3.12 no longer starts threads at this time, so a worker thread must exist already.
accelerator.launch(stream, seen.append, 0)
stream.synchronize()
