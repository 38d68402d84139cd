import atexit

import interlock
from interlock import accelerator

stream, seen = interlock.Stream(), []


def finish():
    accelerator.launch(stream, seen.append, 1)
    stream.synchronize()
    print(seen)


atexit.register(finish)
# Python 3.12 starts no more threads by then, so one must be there to call the function.
accelerator.launch(stream, seen.append, 0)
stream.synchronize()
