import os
import threading

from out_of_memory_setup import *

interlock.set_num_threads(2)
matrix = ones(410, 410).long()
# Room for the result, but not for the stack of a thread.
limit(5 << 19)
product = matrix @ matrix
try:
    threading.Thread(target=os.getpid).start()
except RuntimeError as error:
    print(error)
lift_limit()
assert (product == 410).min().item()
