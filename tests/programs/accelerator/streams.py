"""Waits, launches and errors of streams and events."""

import gc
import json
import os
import signal
import sys
import threading
import time
import warnings

import interlock
from interlock import accelerator, backends, errors, testing
from interlock.accelerator import DeviceProperties, Graph, memory
from interlock.accelerator.memory import Buffer, copy_


def beats_during_synchronize(wait):
    stream, beats, ended = interlock.Stream(), [], threading.Event()

    def beat():
        while not ended.wait(0.01):
            beats.append(time.monotonic())

    heart = threading.Thread(target=beat)
    heart.start()
    accelerator.launch(stream, time.sleep, 2)
    event = stream.record_event(interlock.Event(blocking=True))
    began = time.process_time(), time.monotonic()
    exec(wait)
    busy, waited = time.process_time() - began[0], time.monotonic() - began[1]
    ended.set()
    heart.join()
    pauses = [later - earlier for earlier, later in zip(beats, beats[1:])]
    return [len(beats), max(pauses), waited, busy]


def blocking_copy_can_be_interrupted():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    release, stream, back = threading.Event(), interlock.Stream(), bytearray(3)
    buffer = accelerator.memory.Buffer(3)
    accelerator.launch(stream, release.wait)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        accelerator.memory.copy_(back, buffer, stream=stream)
    except KeyboardInterrupt:
        print("interrupted")
    release.set()
    stream.synchronize()


def interrupt_synchronize(blocking, wait):
    # A shell makes background processes ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    release = threading.Event()
    stream = interlock.Stream()
    accelerator.launch(stream, release.wait)
    event = stream.record_event(interlock.Event(blocking=blocking))
    sent = []

    def send():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    try:
        # An interrupted `exec` of text would make CPython end with SIGINT.
        exec(compile(wait, "wait", "exec"))
    except KeyboardInterrupt:
        result = time.monotonic() - sent[0]
    release.set()
    stream.synchronize()
    return result


def signal_handler_without_exception_does_not_end_the_wait():
    release, handled = threading.Event(), []
    signal.signal(signal.SIGUSR1, lambda *_: (handled.append(1), release.set()))
    stream = interlock.Stream()
    accelerator.launch(stream, release.wait)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    stream.synchronize()
    print(handled, stream.query())


def child_forked_inside_a_function_exits():
    children, stream = [], interlock.Stream()

    def fork():
        process = os.fork()
        if process != 0:
            children.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))

    accelerator.launch(stream, fork)
    stream.synchronize()
    return children


def child_forked_inside_a_function_waits_for_its_own_stream():
    children, stream = [], interlock.Stream()

    def fork():
        process = os.fork()
        if process == 0:
            own, seen = interlock.Stream(), []
            accelerator.launch(own, seen.append, 1)
            own.synchronize()
            os._exit(0 if seen == [1] else 1)
        children.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))

    accelerator.launch(stream, fork)
    stream.synchronize()
    return children


def concurrently_created_events_and_streams_leak_nothing():
    faults = testing.FaultInjector()
    accelerator.use("host", devices=2, faults=faults)
    stream = interlock.Stream(dedicated=True)

    def record(event, barrier):
        barrier.wait()
        event.record(stream)

    for _ in range(50):
        event, barrier = interlock.Event(), threading.Barrier(8)
        threads = [threading.Thread(target=record, args=(event, barrier)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del event
    gc.collect()
    return faults.live_objects()["events"]


def fork_while_streams_release_python_objects():
    ended = threading.Event()

    def work():
        stream, buffer = interlock.Stream(dedicated=True), Buffer(64)
        while not ended.is_set():
            for _ in range(50):
                copy_(buffer, bytes(64), non_blocking=True, stream=stream)
                accelerator.launch(stream, lambda: None)
            stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    result = []
    for _ in range(150):
        process = os.fork()
        if process == 0:
            bytes(accelerator.device_count())
            os._exit(0)
        result.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    ended.set()
    for thread in threads:
        thread.join()
    return result


def launch_again_from_each_function(wait):
    stream, event, ended = interlock.Stream(dedicated=True), interlock.Event(), []

    def again():
        if not ended:
            accelerator.launch(stream, again)
            event.record(stream)

    for _ in range(20):
        accelerator.launch(stream, again)
    event.record(stream)
    exec(wait)
    ended.append(1)
    stream.synchronize()


def call_each_in_a_child():
    from collections import OrderedDict

    warnings.simplefilter("ignore", FutureWarning)

    def shown(result):
        if isinstance(result, interlock.Stream):
            kind = "the default" if result.stream_id == 0 else "a"
            return f"{kind} stream of {result.device}"
        if isinstance(result, interlock.Event):
            return f"an event of {result.device}"
        if isinstance(result, Buffer):
            return f"{result.nbytes} bytes on {result.device}"
        if isinstance(result, (DeviceProperties, Graph)):
            return type(result).__name__
        if isinstance(result, OrderedDict):
            return f"{len(result)} numbers"
        if isinstance(result, dict):
            return "a dict"
        if isinstance(result, tuple) and result[1] > 1000:
            return "(free, total)"
        if isinstance(result, str):
            return "a sentence" if result.count(" ") > 2 else "a name"
        return str(result)

    def outcome(call):
        try:
            return shown(eval(call))
        except Exception as error:
            return type(error).__name__

    def fixed():
        try:
            accelerator.use("host", devices=2)
        except errors.DriverInUseError:
            return True
        return False

    answer = []
    for call in json.loads(sys.stdin.read() or os.environ["CALLS"]):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            if os.environ["STATE"] == "ready":
                interlock.Stream(1).synchronize()
                accelerator.set_device_index(1)
            reported = [outcome(call), fixed()]
            os.write(writing, json.dumps(reported).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            answer.append(json.loads(pipe.read()))
        os.waitpid(process, 0)

    return answer


def raise_errors(table, calls):
    names = {"interlock": interlock, "accelerator": accelerator, "backends": backends, "memory": memory}
    names["testing"] = testing
    if table == "host driver":
        names["faults"] = testing.FaultInjector()
        accelerator.use("host", devices=2, memory=64 << 20, faults=names["faults"])
        names["buffer"], names["viewed"], names["closed"] = (memory.Buffer(8) for _ in range(3))
        view = memoryview(names["viewed"])
        names["closed"].close()
    if table == "lost device":
        faults = testing.FaultInjector()
        accelerator.use("host", faults=faults)
        interlock.Stream()
        faults.lose_device(0, "unplugged")

    def raised(call):
        try:
            return ["no error", repr(eval(call, names))]
        except Exception as error:
            return [type(error).__name__, str(error)]

    return {call: raised(call) for call in calls}


def count_devices_after_use(index):
    interlock.Stream(index).synchronize()
    return accelerator.device_count()


def device_count_in_the_parent_does_not_affect_a_child():
    import multiprocessing

    current = accelerator.current_accelerator()
    asked = [accelerator.is_available(), accelerator.device_count(), str(current)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return [asked, pool.map(count_devices_after_use, range(2))]
