"""Faults that a `FaultInjector` injects into the host driver."""

import gc
import threading
import time

import interlock
from interlock import accelerator, errors, testing
from interlock.accelerator.memory import Buffer, copy_, empty_cache, fill_

faults = testing.FaultInjector()
accelerator.use("host", devices=2, faults=faults)


def raised(call, *args):
    try:
        call(*args)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def inject_all_or_none(right, wrong):
    notes = None
    try:
        testing.Scenario([right, wrong]).inject(faults)
    except errors.InterlockError as error:
        notes = error.__notes__
    pending = faults.pending()
    testing.Scenario([right]).inject(faults)
    return [notes, pending, faults.injected()]


def destroyed_objects_leave_no_resources_behind():
    def use():
        stream, event, graph = interlock.Stream(dedicated=True), interlock.Event(), accelerator.Graph()
        buffer = Buffer(64)
        with stream, graph:
            fill_(buffer, 1)
            accelerator.launch(stream, len, "abc")
        with stream:
            graph.replay()
        event.record(stream)
        interlock.Stream(dedicated=True).wait_event(event)
        copy_(bytearray(64), buffer, stream=stream)
        stream.synchronize()

    use()
    before = faults.live_objects(internal=True)
    for _ in range(20):
        use()
    gc.collect()
    accelerator.synchronize()
    after = faults.live_objects(internal=True)
    names = ("streams", "events", "graphs", "executables", "captures", "commands", "bytes")
    return [[before[name], after[name]] for name in names]


def live_objects_are_those_of_the_program():
    def nonzero(internal=False):
        gc.collect()
        accelerator.synchronize()
        return {name: count for name, count in faults.live_objects(internal=internal).items() if count}

    result = [nonzero()]
    pooled, dedicated, event = interlock.Stream(), interlock.Stream(dedicated=True), interlock.Event()
    graph, buffer = accelerator.Graph(), Buffer(3 << 20, stream=dedicated)
    with pooled, graph:
        fill_(buffer, 1)
    event.record(pooled)
    buffer.record_stream(pooled)
    result.append(nonzero())
    buffer.close()
    result.append(nonzero())
    del event, graph, dedicated, buffer
    copy_(bytearray(8), Buffer(8), stream=pooled)
    return [*result, nonzero(), nonzero(internal=True)]


def fail_allocation_fails_the_kth_request_only():
    faults.fail_allocation(3)
    retries = []
    for _ in range(5):
        Buffer(20 << 20).close()
        retries.append(accelerator.memory_stats()["num_alloc_retries"])
        accelerator.empty_cache()
    faults.fail_allocation(1)
    faults.clear()
    result = [retries, raised(Buffer, 8), raised(faults.fail_allocation, 0)]

    # Each call adds a fault, and a request that fails twice calls the observers.
    accelerator.empty_cache()
    seen = []

    def observe(error):
        seen.append(error.requested)
        return len(seen) == 1

    with accelerator.memory.on_oom(observe):
        faults.fail_allocation(1, times=2)
        result.append(raised(Buffer, 20 << 20))
        accelerator.empty_cache()
        for number in (1, 2):
            faults.fail_allocation(number)
        result.append(raised(Buffer, 20 << 20)[0])
        result += [seen, raised(Buffer, 20 << 20)]
    return result


def fail_work_reports_one_asynchronous_error(fault, work):
    stream, buffer, seen = interlock.Stream(), Buffer(8), []
    getattr(faults, fault)("a cable came loose")
    exec(work)
    accelerator.launch(stream, seen.append, 2)
    return [raised(stream.synchronize), raised(stream.synchronize), seen]


def higher_priority_work_runs_first_on_busy_engines():
    blockers = [interlock.Stream(dedicated=True) for _ in range(2)]
    low, high = (interlock.Stream(priority=priority, dedicated=True) for priority in (0, -1))
    buffers, order = [Buffer(4) for _ in range(4)], []
    paused = faults.pause_copies()
    names = ("first", "first", "low", "high")
    for stream, buffer, name in zip((*blockers, low, high), buffers, names):
        copy_(buffer, b"1234", non_blocking=True, stream=stream)
        accelerator.launch(stream, order.append, name)
    for stream in (*blockers, high, low):
        paused.step()
        stream.synchronize()
    paused.release()
    return order


def lose_device_wakes_waiting_threads_and_is_permanent():
    stream, other, never = interlock.Stream(1), interlock.Stream(0), threading.Event()
    buffer, begun = Buffer(8, 1), threading.Event()
    accelerator.launch(stream, lambda: (begun.set(), never.wait()))
    begun.wait()
    outcome = []
    waiter = threading.Thread(target=lambda: outcome.append(raised(stream.synchronize)))
    waiter.start()
    faults.lose_device(1, "it fell off the bus")
    waiter.join(20)
    calls = [
        stream.query,
        stream.record_event,
        lambda: accelerator.launch(stream, print),
        lambda: fill_(buffer, 1),
        lambda: copy_(bytearray(8), buffer),
        lambda: Buffer(3 << 20, 1),
        lambda: Buffer(8, 1),
        lambda: Buffer(0, 1),
        lambda: interlock.Event().record(stream),
        lambda: accelerator.synchronize(1),
        lambda: accelerator.get_memory_info(1),
    ]
    result = [outcome, [raised(call) for call in calls], raised(other.synchronize), raised(Buffer, 8, 0)]
    buffer = None
    gc.collect()
    return result


def lost_device_error_names_the_calling_operation():
    stream, other, buffer = interlock.Stream(1), interlock.Stream(0), Buffer(8, 1)
    tensor = interlock.ones(2, device="host:1")
    faults.lose_device(1, "x")
    calls = [
        lambda: fill_(buffer, 1),
        lambda: copy_(buffer, bytearray(8)),
        lambda: interlock.Stream(1),
        lambda: other.wait_stream(stream),
        stream.record_event,
        lambda: interlock.Event().record(stream),
        stream.is_capturing,
        lambda: Buffer(8, 1),
        lambda: tensor.mul(tensor),
    ]
    return [raised(call) for call in calls]


def pause_copies_delays_only_its_stream():
    slow, quick, buffer = interlock.Stream(dedicated=True), interlock.Stream(dedicated=True), Buffer(4)
    back, seen = bytearray(4), []
    copy_(buffer, b"slow")
    with faults.pause_copies() as paused:
        copy_(back, buffer, non_blocking=True, stream=slow)
        accelerator.launch(slow, seen.append, "slow")
        accelerator.launch(quick, seen.append, "quick")
        quick.synchronize()
        held = [slow.query(), bytes(back) == bytes(4), list(seen)]
        stepped = [paused.step(), paused.step()]
        slow.synchronize()
    return [held, stepped, back.decode(), seen]


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
