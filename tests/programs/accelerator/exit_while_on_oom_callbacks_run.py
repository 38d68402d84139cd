import json
import os
import sys
import threading
import time

import interlock
from interlock import accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

accelerator.use("host", memory=8 << 20)


def allocate():
    while True:
        try:
            Buffer(1 << 30)
        except errors.OutOfMemoryError:
            pass


class ReportsItsEnd:
    def __call__(self, error):
        sum(range(1000))
        return False

    def __del__(self):
        print("gone", flush=True)


memory.on_oom(ReportsItsEnd())
for _ in range(3):
    threading.Thread(target=allocate, daemon=True).start()


def allocate_once():
    try:
        Buffer(1 << 30)
    except errors.OutOfMemoryError:
        pass


def fork():
    child = os.fork()
    if child == 0:
        allocate_once()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


exec(json.loads(sys.argv[1]))
