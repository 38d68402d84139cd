import json
import os
import sys
import threading
import time

(handler,) = map(json.loads, sys.argv[1:])


def lock_of_logging():
    import logging

    logging.basicConfig(filename=os.devnull)
    from interlock import accelerator

    class Shown:
        def __str__(self):
            return str(accelerator.device_count())

    def work():
        while True:
            logging.error("%s", Shown())

    return work


def join():
    import atexit

    ended = threading.Event()
    atexit.register(lambda: (ended.set(), worker.join()))
    from interlock import accelerator

    def work():
        while not ended.is_set():
            accelerator.device_count()

    return work


worker = threading.Thread(
    target={"a lock of logging": lock_of_logging, "a join": join}[handler](), daemon=True
)
worker.start()
time.sleep(0.1)
print("end")
