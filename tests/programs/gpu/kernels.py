"""Programs with test kernels: a stream, memory for one number and a slow kernel."""

import json
import os
import signal
import sys
import threading
import time
import warnings

import interlock
from interlock import Event, Stream, accelerator, errors
from interlock.accelerator.memory import Buffer, copy_, fill_

from tests.hardware.gpu.slow_kernel import Kernels, Library

accelerator.synchronize()
library = Library()
kernels = Kernels(library)
stream, cell = Stream(dedicated=True), Buffer(4).fill_(0)
accelerator.synchronize()


back = bytearray(4)
# Functions and no texts: after an interrupt in `exec` CPython exits with its signal, even if a program caught
# it.
WAITS = {
    "stream": lambda _: stream.synchronize(),
    "event": lambda event: event.synchronize(),
    "device": lambda _: accelerator.synchronize(),
    "copy": lambda _: cell.copy_to(back),
}


def slow(seconds, number=1):
    kernels.spin(stream.native_handle, seconds, cell.data_ptr(), number)


def count_beats_during_a_wait(wait):
    beats, ended = [], threading.Event()

    def beat():
        while not ended.wait(0.01):
            beats.append(time.monotonic())

    heart = threading.Thread(target=beat)
    heart.start()
    slow(2.0)
    event = stream.record_event(Event(blocking=True))
    with stream:
        begun = time.monotonic()
        WAITS[wait](event)
        waited = time.monotonic() - begun
    ended.set()
    heart.join()
    return [len(beats), max(later - earlier for earlier, later in zip(beats, beats[1:])), waited]


def exit_with_queued_work(leave):
    global kept

    kept = [Event(enable_timing=True), Buffer(64 << 20), accelerator.Graph()]
    with stream, kept[2]:
        kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
    slow(0.2)
    kept[0].record(stream)
    with stream:
        kept[2].replay()
    copy_(kept[1][:4], cell, non_blocking=True, stream=stream)
    threading.Thread(target=stream.synchronize, daemon=True).start()
    threading.Thread(target=accelerator.synchronize, daemon=True).start()
    exec(leave)


def fork_after_the_first_use():
    warnings.simplefilter("ignore", DeprecationWarning)
    event = stream.record_event()

    def error_of(use):
        try:
            use()
        except Exception as error:
            return type(error).__name__
        return "nothing"

    reading, writing = os.pipe()
    if os.fork() == 0:
        uses = (stream.synchronize, event.query, lambda: cell.fill_(1), Stream, lambda: Buffer(4))
        os.write(writing, json.dumps([error_of(use) for use in uses]).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        result = json.loads(pipe.read())
    os.wait()
    cell.fill_(1)
    accelerator.synchronize()
    return result


def interrupt_a_wait(wait, blocking):
    # A shell makes background processes ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def send():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    slow(2.0, 7)
    event = stream.record_event(Event(blocking=blocking))
    threading.Thread(target=send).start()
    try:
        with stream:
            WAITS[wait](event)
    except KeyboardInterrupt:
        took = time.monotonic() - sent[0]
    was_running = not stream.query()
    stream.synchronize()
    return [took, was_running]


def memory_in_a_segment_that_grows():
    kept = [Buffer(30 << 20).fill_(number) for number in range(1, 6)]
    accelerator.synchronize()
    backs = [bytearray(30 << 20) for _ in kept]
    for buffer, back in zip(kept, backs):
        buffer.copy_to(back)
    right = [back == bytes([number]) * len(back) for number, back in enumerate(backs, 1)]
    segments = [each for each in accelerator.memory.snapshot()["segments"] if each["is_expandable"]]
    large = [each for each in segments if each["segment_type"] == "large"]
    return [right, len(large), accelerator.device_properties().extra["virtual_memory"]]


def memory_reserved_and_used(large):
    Buffer(1 << 20).close()  # The first allocation creates permanent resources.
    accelerator.empty_cache()

    def taken():
        return before - library.memory_info()[0]

    before = library.memory_info()[0]
    buffers = [Buffer(large), Buffer(large)]
    result = [(accelerator.memory_reserved(), taken())]
    buffers.pop().close()
    result.append((accelerator.memory_reserved(), taken()))
    accelerator.empty_cache()
    result.append((accelerator.memory_reserved(), taken()))
    buffers.clear()
    accelerator.empty_cache()
    result.append((accelerator.memory_reserved(), taken()))
    more = accelerator.device_properties().extra
    result.append(more["virtual_memory"])
    return result


def use_a_device_that_failed():
    kernels.spin(stream.native_handle, 0.0, 8)
    uses = {
        "first": stream.synchronize,
        "stream": stream.synchronize,
        "query": stream.query,
        "device": accelerator.synchronize,
        "memory": lambda: Buffer(64 << 20),
        "fill": lambda: cell.fill_(1),
        "new stream": lambda: Stream(dedicated=True),
        "event": stream.record_event,
        "information": accelerator.get_memory_info,
    }
    reported = {}
    for name, use in uses.items():
        try:
            use()
            reported[name] = ["nothing", "", ""]
        except errors.AcceleratorError as error:
            reported[name] = [type(error).__name__, str(error), error.operation]
    print(json.dumps(reported))
