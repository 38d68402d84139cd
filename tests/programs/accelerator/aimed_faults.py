"""Faults that match some operations."""

import threading
import time

import interlock
from interlock import accelerator, testing
from interlock.accelerator.memory import Buffer, copy_, empty_cache, fill_

faults = testing.FaultInjector()
accelerator.use("host", devices=2, faults=faults)


def raised(call, *args):
    try:
        call(*args)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def fault_fails_the_function_that_it_names():
    stream, seen = interlock.Stream(), []

    def first():
        seen.append("first")

    def second():
        seen.append("second")

    first.__qualname__, second.__qualname__ = "first", "second"
    faults.inject("launch", name="sec*", number=2, error="a cable came loose")
    for function in (first, second, first, second):
        accelerator.launch(stream, function)
    return [raised(stream.synchronize)[1], seen, faults.pending()]


def fault_matches_its_device_and_stream_only():
    streams = [interlock.Stream(1), interlock.Stream(0, dedicated=True), interlock.Stream(0, dedicated=True)]
    faults.inject(device=0, stream=streams[2], number=2)
    (injected,) = faults.injected()
    matched = []
    for stream in streams:
        fill_(Buffer(8, stream.device), 1, stream=stream)
        stream.synchronize()
        matched.append(faults.pending()[0]["matched"])
    fill_(Buffer(8, 0), 1, stream=streams[2])
    return [matched, raised(streams[2].synchronize)[1], list(injected)]


def chance_repeats_with_its_seed():
    stream = interlock.Stream()

    def outcomes(seed):
        faults.inject("launch", probability=0.5, seed=seed, times=None)
        failed = []
        for _ in range(50):
            accelerator.launch(stream, int)
            failed.append(raised(stream.synchronize) is not None)
        faults.clear()
        return failed

    return [outcomes(3), outcomes(3), outcomes(4)]


def slow_device_delays_its_work_only():
    faults.inject(device=1, delay=0.05, times=None)
    seconds = []
    for device in range(2):
        stream, began = interlock.Stream(device), time.perf_counter()
        for _ in range(2):
            accelerator.launch(stream, int)
        stream.synchronize()
        seconds.append(time.perf_counter() - began)
    return seconds


def work_that_hangs_completes_after_clear():
    streams = [interlock.Stream(dedicated=True) for _ in range(2)]
    faults.inject("launch", never=True)
    accelerator.launch(streams[0], int)
    faults.inject("event", never=True, stream=streams[1])
    event = streams[1].record_event()
    ended = []
    waiting = threading.Thread(target=lambda: ended.append(raised(event.synchronize)))
    waiting.start()
    time.sleep(0.02)
    before = [streams[0].query(), streams[1].query(), event.query()]
    faults.clear()
    accelerator.synchronize()
    waiting.join(20)
    return [before, [streams[0].query(), event.query()], *ended]


def sticky_fault_breaks_its_device():
    stream, seen = interlock.Stream(1), []
    faults.inject("launch", sticky=True, error="illegal address")
    accelerator.launch(stream, seen.append, 1)
    calls = [stream.synchronize, stream.synchronize, lambda: Buffer(8, 1), lambda: accelerator.synchronize(1)]
    return [seen, [raised(call) for call in calls], raised(accelerator.synchronize, 0)]


def allocation_fails_on_its_device_only():
    faults.inject("allocation", device=1, times=2)
    empty_cache()
    return [raised(Buffer, 20 << 20, 0), raised(Buffer, 20 << 20, 1)[0]]


def scenario_repeats_its_faults(path, seed):
    scenario = testing.Scenario.load(path) if seed is None else testing.Scenario.random(seed, faults=8)
    scenario.inject(faults)
    stream, buffer, outcomes = interlock.Stream(), Buffer(8), []
    for _ in range(20):
        accelerator.launch(stream, int)
        outcomes.append(raised(stream.synchronize))
        fill_(buffer, 1, stream=stream)
        outcomes.append(raised(stream.synchronize))
        outcomes.append(raised(copy_, bytearray(8), buffer))
    injected = testing.Scenario(faults.injected())
    injected.save(path)
    return [list(injected.faults), injected == scenario, *outcomes]


def leave_unfinished_work(kind):
    fault = {"never": True} if kind == "hang" else {"delay": 1000.0}
    faults.inject("launch", **fault)
    stream = interlock.Stream()
    accelerator.launch(stream, print, "never printed")
    buffer = Buffer(8)
    faults.inject("fill", **fault)
    fill_(buffer, 1)
    if kind == "hang":
        faults.inject("event", never=True, device=1)
        interlock.Stream(1).record_event()


def leave_an_exception():
    class Error(Exception):
        def __del__(self):
            print("released", flush=True)

    def fail():
        raise Error

    stream = interlock.Stream()
    accelerator.launch(stream, fail)
    done = threading.Event()
    accelerator.launch(stream, done.set)
    done.wait(20)
