import threading

from verbose_setup import *

entered, left = threading.Event(), threading.Event()


def other():
    with m.verbose(2):
        entered.set()
        left.wait()


thread = threading.Thread(target=other)
with m.verbose(1):
    thread.start()
    entered.wait()
left.set()
thread.join()
