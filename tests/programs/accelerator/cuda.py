"""Errors of a CUDA device and a fork, with every handle in use."""

import ctypes
import gc
import os

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


def failed_device_stays_lost_and_the_exit_status_is_kept(code):
    other = interlock.Stream(1)
    driver = ctypes.CDLL("libcuda.so.1")
    assert driver.fake_cuda_break_device(0, code) == 0
    try:
        stream.synchronize()
    except errors.AcceleratorError as error:
        first = [type(error).__name__, error.error_code, error.operation, str(error)]
    later = {name: raised(use) for name, use in USES.items()}
    fill_(Buffer(8, 1), 1, stream=other)
    other.synchronize()
    memory.empty_cache()
    for name in ("stream", "event", "buffer", "graph", "USES"):
        del globals()[name]
    gc.collect()
    return [first, later]


def forked_child_is_refused_every_handle_and_spares_its_parent():
    NEW = {
        "Stream": lambda: interlock.Stream("cuda:1"),
        "Event": lambda: interlock.Event().record(),
        "Buffer": lambda: Buffer(4),
        "synchronize": accelerator.synchronize,
        "get_memory_info": accelerator.get_memory_info,
    }
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        reported = {name: raised(use) for name, use in (USES | NEW).items()}
        why = accelerator.unavailable_reason()
        for name in ("stream", "event", "buffer", "graph", "USES"):
            del globals()[name]
        del NEW
        gc.collect()
        os.write(writing, repr((reported, why, accelerator.is_available())).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        reported, why, is_available = eval(pipe.read())
    _, status = os.waitpid(process, 0)
    return [reported, why, is_available, status, [raised(use) for use in USES.values()]]
