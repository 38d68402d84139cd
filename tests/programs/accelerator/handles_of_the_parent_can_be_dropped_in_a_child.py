import fork_setup
from fork_setup import *


def work():
    for name in ("stream", "event", "timed", "buffer", "graph"):
        del globals()[name]
        delattr(fork_setup, name)
    interlock.Stream().synchronize()


print(in_child(work))
stream.synchronize()
copy_(bytearray(8), buffer)
