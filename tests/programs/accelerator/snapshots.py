"""Histories and snapshots of memory."""

import os
import threading

import interlock
from interlock import accelerator, errors
from interlock.accelerator import memory


def track_memory_without_an_accelerator():
    with memory.MemoryTracker(0) as tracker:
        result = [tracker.current, tracker.peak]
    result += [tracker.total, tracker.allocations]
    for wrong in (99, "cpu"):
        try:
            memory.MemoryTracker(wrong).__enter__()
        except errors.DeviceError as error:
            result.append(type(error).__name__)
    return result


def forked_child_starts_its_own_history():
    accelerator.use("host")
    recording = memory.history()
    kept = memory.Buffer(8)
    reading, writing = os.pipe()
    if os.fork() == 0:
        own = memory.Buffer(8)
        reported = [entry["action"] for entry in memory.snapshot()["device_traces"][0]]
        recording.stop()
        os.write(writing, " ".join(reported).encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 1000).decode()


def history_starts_with_the_first_device_and_initializes_none():
    asked = [memory.history(), memory.history(device="host:0"), memory.history(0)]
    recording = memory.history(stacks=None, device="host:0")
    empty = memory.snapshot()
    settings = empty.pop("allocator_settings")
    accelerator.use("host", devices=2)
    kept = [memory.Buffer(8, "host:0"), memory.Buffer(8, "host:1")]
    traces = memory.snapshot()["device_traces"]
    return [empty, [[entry["action"] for entry in trace] for trace in traces], settings["backend"]]


def replay_a_recorded_snapshot(recorded, repeated):
    import pickle

    accelerator.use("host", memory=64 << 20)
    with open(recorded, "rb") as file:
        taken = pickle.load(file)
    memory.history(None)
    result = memory.replay(taken)
    memory.dump_snapshot(repeated)
    return result


def replay_a_capture_without_memory():
    """Return the statistics that differ after a replay on a second device, and how often memory ran out."""
    accelerator.use("host", devices=2, memory=64 << 20)
    with memory.history(max_entries=None):
        stream, cached, graph = interlock.Stream(), memory.Buffer(50 << 20), accelerator.Graph()
        try:
            with stream, graph:
                # A capture does not release it.
                cached.close()
                memory.Buffer(50 << 20)
        except errors.OutOfMemoryError:
            pass
        taken, counted = memory.snapshot(), memory.memory_stats()
    differing, replayed = replayed_on_the_second_device(taken, counted)
    # The replay frees everything at its end.
    return [{name: pair for name, pair in differing.items() if "current" not in name}, replayed["num_ooms"]]


def replayed_on_the_second_device(taken, counted):
    """Replay the trace of the first device; return the statistics that differ, and all."""
    taken["device_traces"].reverse()
    replayed = memory.replay(taken, "host:1")
    differing = {
        name: [counted.get(name), value] for name, value in replayed.items() if value != counted.get(name)
    }
    return differing, replayed


def replay_releases_of_expandable_segments(release):
    """Return the causes of the released memory, and the statistics that differ after a replay."""
    accelerator.use("host", devices=2, memory=256 << 20)
    memory.set_config("expandable_segments:True")
    with memory.history(max_entries=None):
        stream, pool = interlock.Stream(dedicated=True), accelerator.MemPool()
        with stream:
            memory.Buffer(3 << 20).close()
        with accelerator.use_mem_pool(pool):
            memory.Buffer(3 << 20).close()
        memory.Buffer(3 << 20).close()
        stream.synchronize()
        if release == "empty_cache":
            accelerator.empty_cache()
        elif release == "stream":
            del stream
        else:
            del pool
        # Releases what waits for an event.
        memory.Buffer(100).close()
        taken, counted = memory.snapshot(), memory.memory_stats()
    unmapped = [entry for entry in taken["device_traces"][0] if entry["action"] == "segment_unmap"]
    differing, _ = replayed_on_the_second_device(taken, counted)
    # `empty_cache` was called on the second device, too.
    differing.pop("num_sync_all_streams", None)
    # A replay has pools of its own.
    differing = {name: pair for name, pair in differing.items() if "private_pools" not in name}
    return [[entry.get("cause") for entry in unmapped], differing]


def allocates():
    for _ in range(300):
        memory.Buffer(600)


def threads_record_frames_while_histories_start_and_stop():
    accelerator.use("host")

    def looks():
        for _ in range(30):
            with memory.history(50):
                memory.snapshot()

    threads = [threading.Thread(target=work) for work in (allocates, allocates, looks)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with memory.history(50):
        allocates()
        [trace] = memory.snapshot()["device_traces"]
    names = {entry["frames"][0]["name"] for entry in trace if entry["action"] == "alloc"}
    return [len(trace), sorted(names)]


def record_many_allocations(path):
    import random

    accelerator.use("host", memory=64 << 20)
    memory.history(None)
    draw, kept = random.Random(5), []
    streams = [interlock.Stream() for _ in range(3)] + [accelerator.current_stream()]
    for step in range(400):
        with draw.choice(streams):
            try:
                kept.append(memory.Buffer(draw.randrange(1, draw.choice([3000, 1 << 20, 3 << 20, 14 << 20]))))
            except errors.OutOfMemoryError:
                del kept[: len(kept) // 2]
            if kept and (len(kept) > 24 or draw.random() < 0.3):
                buffer = kept.pop(draw.randrange(len(kept)))
                memory.fill_(buffer, 1, stream=draw.choice(streams))
                del buffer
    memory.dump_snapshot(path)
