import json
import sys
import threading
import time

import interlock
from interlock import aio

(at_work,) = map(json.loads, sys.argv[1:])


def work() -> None:
    entered.set()
    while True:
        time.sleep(0.001)


async def task() -> None:
    work()


entered = threading.Event()
threading.Thread(target=lambda: eval(at_work), daemon=True).start()
entered.wait()
time.sleep(0.05)
