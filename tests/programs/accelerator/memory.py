"""The allocator: its configuration, statistics, limits and pinned memory."""

import dataclasses
import json
import os
import signal
import sys
import threading

import interlock
from interlock import Stream, accelerator, errors, testing
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer, config_report, memory_stats


def config_state():
    try:
        config = memory.get_config()
    except errors.ArgumentError as error:
        return str(error)
    report = memory.config_report()
    assert {name: entry.value for name, entry in report.items()} == dataclasses.asdict(config)
    sources = {name: entry.source for name, entry in report.items() if not entry.is_default}
    return [str(config), config.caching, sources]


def query_all():
    return [
        accelerator.empty_host_cache(),
        memory.empty_host_cache(),
        memory.reset_peak_host_memory_stats(),
        memory.reset_accumulated_host_memory_stats(),
    ]


def forked_child_inherits_the_config_and_changes_its_own():
    memory.set_config("max_split_size_mb:64")
    reading, writing = os.pipe()
    if os.fork() == 0:
        inherited = str(memory.get_config())
        memory.set_config("max_split_size_mb:32")
        os.write(writing, f"{inherited} {memory.get_config()}".encode())
        os._exit(0)
    os.wait()
    return [os.read(reading, 200).decode(), str(memory.get_config())]


def invalid_variable_raises_until_the_program_sets_a_config():
    result = [config_state(), config_state()]
    try:
        memory.set_config("backend:none")
    except errors.ArgumentError:
        result.append(config_state())
    memory.set_config("max_split_size_mb:64")
    result.append(config_state())
    return result


def variable_sets_every_key():
    return config_state()


def variable_switches_caching_off_for_good():
    result = [config_state()]
    memory.set_config(memory.AllocatorConfig(max_split_size_mb=64))
    result += [config_state(), memory.config_report()["max_split_size_mb"].applies]
    return result


def print_config_state():
    print(config_state())


def variable_that_is_not_unicode_is_reported():
    import subprocess

    env = os.environb | {b"PYTORCH_ALLOC_CONF": b"backend:\xff"}
    command = [sys.executable, *sys.argv[:2], "print_config_state"]
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout


def fail_pinned_allocation_affects_no_device_and_checks_its_k():
    faults = testing.FaultInjector()
    accelerator.use("host", faults=faults)
    faults.fail_pinned_allocation(1)
    buffer = memory.Buffer(8)
    try:
        faults.fail_pinned_allocation(0)
    except errors.ArgumentError as error:
        return [str(error)]


def stats_are_complete_and_zero_before_first_use():
    stats = memory.host_memory_stats()
    return [list(stats), set(stats.values()) == {0}, query_all()]


def stats_exclude_device_memory():
    buffer = memory.Buffer(1000)
    stats = memory.host_memory_stats()
    return [list(stats), set(stats.values()) == {0}, query_all()]


def stats_initialize_no_driver():
    memory.host_memory_stats()
    query_all()
    accelerator.use("host", devices=5)
    return [accelerator.device_count()]


def stats_of_a_forked_child_are_its_own():
    buffer = memory.Buffer(1000)
    read, write = os.pipe()
    if os.fork() == 0:
        query_all()
        os.write(write, str(sum(memory.host_memory_stats().values())).encode())
        os._exit(0)
    os.close(write)
    return [os.wait()[1], os.read(read, 10).decode()]


def forked_child_has_its_own_allocator():
    kept, freed = Buffer(3 << 20), Buffer(100)
    freed.close()
    with memory.MemoryTracker() as tracker:
        Buffer(1000)
        reading, writing = os.pipe()
        if os.fork() == 0:
            reported = [accelerator.memory_allocated(), accelerator.memory_reserved()]
            for use in (
                lambda: kept.fill_(1),
                lambda: memoryview(kept),
                lambda: kept.stream,
                lambda: tracker.total,
                kept.__dlpack__,
            ):
                try:
                    use()
                    reported.append("nothing")
                except Exception as error:
                    reported.append(type(error).__name__)
            del kept
            buffer = Buffer(1)
            reported += [accelerator.memory_allocated(), accelerator.memory_reserved()]
            reported.append(bytes(buffer.fill_(1))[0])
            tracker.__exit__(None, None, None)
            os.write(writing, json.dumps(reported).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            result = json.loads(pipe.read())
    result.append([accelerator.memory_allocated(), tracker.total])
    return result


def interrupt_a_wait_for_memory(call):
    # Processes in the background may inherit SIGINT as ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faults = testing.FaultInjector()
    accelerator.use("host", memory=64 << 20, faults=faults)
    empty = faults.live_objects(internal=True)["bytes"]
    own, other, opened = interlock.Stream(), interlock.Stream(dedicated=True), threading.Event()
    buffer = Buffer(40 << 20, stream=own)
    begun = threading.Event()
    accelerator.launch(other, lambda: (begun.set(), opened.wait()))
    begun.wait()
    buffer.record_stream(other)
    buffer.close()

    def press():
        # The allocator waits for the other stream once it releases all cached blocks.
        while accelerator.memory_stats()["num_sync_all_streams"] == 0:
            opened.wait(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press)
    result = []
    try:
        finger.start()
        # An interrupted `exec` of text would make CPython end with SIGINT.
        exec(compile(call, "call", "exec"))
    except KeyboardInterrupt as error:
        result.append([str(error), type(error.__context__).__name__])
    finger.join()
    result.append([accelerator.memory_allocated(), accelerator.memory_reserved()])
    opened.set()
    other.synchronize()
    again = Buffer(40 << 20)
    result.append([accelerator.memory_allocated(), accelerator.memory_reserved()])
    again.close()
    accelerator.empty_cache()
    result.append([accelerator.memory_reserved(), faults.live_objects(internal=True)["bytes"] - empty])
    return result


def injected_failure_leaves_the_allocator_consistent():
    faults = testing.FaultInjector()
    accelerator.use("host", memory=256 << 20, faults=faults)
    result, sizes = [], [100, 3 << 20, 700, 12 << 20, 2 << 20, 40 << 20, 512]
    for failing in range(1, 9):
        faults.fail_allocation(failing)
        kept = [Buffer(size) for size in sizes]
        allocated = sum(-(-size // 512) * 512 for size in sizes)
        reported = [accelerator.memory_allocated() - allocated, accelerator.memory_reserved() - (62 << 20)]
        faults.clear()
        kept.clear()
        accelerator.empty_cache()
        reported += [accelerator.memory_allocated(), accelerator.memory_reserved()]
        reported.append(faults.live_objects(internal=True)["bytes"])
        result.append(reported)
    result.append(accelerator.memory_stats()["num_ooms"])
    return result


def get_limit_initializes_no_driver():
    result = [memory.get_limit(), memory.get_cache_limit()]
    accelerator.use("host", devices=2)
    try:
        memory.set_limit(1, 7)
    except errors.DeviceError:
        result.append("DeviceError")
    return result


def memory_stats_are_complete_and_refuse_an_invalid_device():
    def refusals():
        reported = []
        for wrong in (99, -2, True, "cpu", 1.5):
            for query in (accelerator.memory_reserved, accelerator.memory_stats, memory.fragmentation):
                try:
                    reported.append(str(query(wrong)))
                except Exception as error:
                    reported.append(type(error).__name__)
        return reported

    result = [dict(accelerator.memory_stats(0)), refusals()]
    if accelerator.is_available():
        buffer = memory.Buffer(1)
        result += [dict(accelerator.memory_stats(0)), refusals()]
    return result


def use_memory_of_a_stream():
    accelerator.use("host", memory=256 << 20)
    side = Stream()
    kept = [Buffer(size) for size in (100, 5000, 3 << 20, 12 << 20, 300)]
    kept[2].fill_(1, stream=side)
    del kept[::2]
    side.synchronize()
    kept += [Buffer(size, stream=side) for size in (700, 2 << 20)] + [Buffer(3 << 20)]
    accelerator.empty_cache()
    report = config_report()
    acts = {key: (report[key].value, report[key].applies) for key in ("backend", "expandable_segments")}
    return [memory_stats(), acts]
