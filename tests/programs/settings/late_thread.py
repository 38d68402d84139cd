"""A program whose last thread is started by another one while the program ends."""

import os
import threading
import time


def write():
    time.sleep(0.1)
    os.environ["OMP_NUM_THREADS"] = "3"


def start():
    time.sleep(0.1)
    threading.Thread(target=write, name="started late").start()


threading.Thread(target=start).start()
