"""Fork while a recording is open and other threads record; parent and child then record on their own."""

import json
import os
import threading

import interlock
from interlock import dispatch

stop = threading.Event()


def keep_recording() -> None:
    x = interlock.ones(1, 1)
    while not stop.is_set():
        with dispatch.record():
            x @ x


def sizes(calls: dispatch.Recording) -> list[str]:
    return [call.arguments.split()[2].partition("x")[0] for call in calls]


def product(size: int) -> None:
    x = interlock.ones(size, size)
    x @ x


threads = [threading.Thread(target=keep_recording) for _ in range(2)]
for thread in threads:
    thread.start()
reader, writer = os.pipe()
with dispatch.record() as calls:
    product(1)
    child = os.fork()
    if child == 0:
        product(2)
        os.write(writer, json.dumps(sizes(calls)).encode())
        os._exit(0)
    product(3)
os.waitpid(child, 0)
stop.set()
for thread in threads:
    thread.join()
print(json.dumps({"parent": sizes(calls), "child": json.loads(os.read(reader, 1000))}))
