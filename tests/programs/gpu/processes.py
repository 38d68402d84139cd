"""Processes that share a device."""

import os
import sys

from interlock import Event, accelerator
from interlock.accelerator.memory import Buffer


def fork_before_the_first_use():
    counted = [accelerator.is_available(), accelerator.device_count(), accelerator.unavailable_reason()]
    reading, writing = os.pipe()
    if os.fork() == 0:
        back = bytearray(4)
        Buffer(4).fill_(7).copy_to(back)
        os.write(writing, back)
        os._exit(0)
    os.close(writing)
    reported = list(os.read(reading, 4))
    os.wait()
    # The parent can use the device afterwards, too.
    accelerator.synchronize()
    return [counted[0], counted[1] > 0, counted[2], reported]


def open_an_event_of_another_process():
    """Open the event whose handle is read from standard input and wait for it."""
    event = Event.from_ipc_handle(0, bytes.fromhex(sys.stdin.readline()))
    print("opened", flush=True)
    sys.stdin.readline()
    print(event.query(), flush=True)
    event.synchronize()
    print(event.query(), flush=True)
