import ctypes
import gc
import os
import sys

import interlock
from interlock import accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer, copy_, fill_

stream, event = interlock.Stream(dedicated=True), interlock.Event(enable_timing=True)
buffer, graph = Buffer(64), accelerator.Graph()
with stream, graph:
    fill_(buffer, 1)
event.record(stream)
stream.synchronize()

USES = {
    "query": stream.query,
    "synchronize": stream.synchronize,
    "record_event": stream.record_event,
    "wait_event": lambda: stream.wait_event(event),
    "launch": lambda: accelerator.launch(stream, print),
    "event.query": event.query,
    "event.record": lambda: event.record(stream),
    "event.synchronize": event.synchronize,
    "elapsed_time": lambda: event.elapsed_time(event),
    "copy_": lambda: copy_(bytearray(64), buffer),
    "fill_": lambda: fill_(buffer, 1),
    "replay": graph.replay,
    "capture": lambda: stream.__enter__() and accelerator.Graph().__enter__(),
}


def raised(use):
    try:
        use()
    except Exception as error:
        return type(error).__name__
    return None
