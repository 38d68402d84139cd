import os
import threading

from verbose_setup import *

entered, left = threading.Event(), threading.Event()


def other():
    with m.verbose(2):
        entered.set()
        left.wait()


thread = threading.Thread(target=other)
thread.start()
entered.wait()
if os.fork() == 0:
    with m.verbose(1):
        pass
    os._exit(0)
os.wait()
left.set()
thread.join()
