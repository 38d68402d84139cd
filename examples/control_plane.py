"""Flags, modes, threads, devices and memory, without tensors.

With `INTERLOCK_DEBUG=1` in the environment, the third part also names the lines that set the flags, and
lists the log of writes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
from interlock import accelerator, backends, testing
from interlock.accelerator import memory

MIB = 1 << 20
DEVICE_MEMORY = 64 * MIB
TASKS, THREADS = 200, 8


def heading(text: str) -> None:
    """Begin a part of the output."""
    print(f"\n{text}")


def row(label: str, value: object) -> None:
    """Print a result."""
    print(f"   {label + ':':<40} {value}")


def active() -> str:
    """Return the flag and the mode that the first two parts set."""
    return f"benchmark_limit {backends.cudnn.benchmark_limit}, grad {interlock.is_grad_enabled()}"


# 1. Each task and thread sets a flag and a mode, and reads them after all others have done so.


async def task(number: int) -> bool:
    """Set a flag and a mode, let the other tasks run, and return whether both are unchanged."""
    grad = number % 2 == 1
    with backends.override({"cudnn.benchmark_limit": number}), interlock.set_grad_enabled(grad):
        await asyncio.sleep(0)
        return active() == f"benchmark_limit {number}, grad {grad}"


async def tasks() -> int:
    """Return how many tasks have read their own values."""
    return sum(await asyncio.gather(*map(task, range(TASKS))))


def threads() -> int:
    """Return how many threads have read their own values."""
    all_have_set = threading.Barrier(THREADS)

    def thread(number: int) -> bool:
        grad = number % 2 == 1
        with backends.override({"cudnn.benchmark_limit": number}), interlock.set_grad_enabled(grad):
            all_have_set.wait()
            return active() == f"benchmark_limit {number}, grad {grad}"

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(thread, range(THREADS)))


def scopes_of_tasks_and_threads() -> None:
    """Show that scopes of concurrent tasks and threads do not mix."""
    heading(f"1. {TASKS} tasks and {THREADS} threads, each with a flag and a mode of its own")
    row("tasks that read their own values", f"{asyncio.run(tasks())} of {TASKS}")
    row("threads that read their own values", f"{threads()} of {THREADS}")
    row("the process, unchanged", active())


# 2. A worker thread starts with the defaults, unless it applies a captured state.


def captured_state() -> None:
    """Apply the flags and modes of this thread on a worker."""
    heading("2. A captured state on a worker")
    scope = backends.override({"cudnn.benchmark_limit": 3})
    with ThreadPoolExecutor(1) as worker, scope, interlock.no_grad():
        state = interlock.capture()
        row("this thread", active())
        row("the worker by itself", worker.submit(active).result())
        row("the worker in the captured state", worker.submit(state.run, active).result())


# 3. What decides each value, and which line wrote it.


def location(set_by: str | None) -> str:
    """Return a file and line without folders; nothing without `INTERLOCK_DEBUG=1`."""
    return "" if set_by is None else f"set at {Path(set_by).name}"


def cause(flag: backends.Explanation) -> str:
    """Return why a flag has its value."""
    if flag.overridden_by is not None:
        return f"overridden by {flag.overridden_by}"
    if flag.inherited_from is not None:
        return f"inherited from {flag.inherited_from}"
    return location(flag.set_by)


def who_set_what() -> None:
    """Show what decides the values of flags, and the log of writes."""
    heading("3. Who set what")
    backends.deterministic_algorithms = True
    backends.mkldnn.enabled = False
    print(f"   {'flag':<26} {'value':<7} {'effective':<10} {'level':<8} reason")
    with backends.override({"fp32_precision": "ieee"}):
        for name in ("mkldnn.enabled", "cudnn.deterministic", "cudnn.conv.fp32_precision", "mha.fastpath"):
            flag = backends.explain(name)
            text = f"{name:<26} {flag.value!s:<7} {flag.effective!s:<10} {flag.level:<8} {cause(flag)}"
            print(f"   {text.rstrip()}")
    for write in backends.writes() if "INTERLOCK_DEBUG" in os.environ else ():
        print(f"   written: {write.name} = {write.value}, {location(write.set_by)}")
    backends.reset()


# 4. Work of a device is queued on streams. Errors are reported by a later call, as on a GPU.


def streams_and_events(faults: testing.FaultInjector) -> None:
    """Order the work of two streams with an event, and report an injected error."""
    heading("4. Streams, events and an injected error")
    first, second = interlock.Stream(), interlock.Stream()
    done: list[str] = []
    may_run = threading.Event()
    accelerator.launch(first, may_run.wait)
    accelerator.launch(first, done.append, "first stream")
    event = first.record_event()
    second.wait_event(event)
    accelerator.launch(second, done.append, "second stream")
    row("queued; the event has completed", event.query())
    may_run.set()
    second.synchronize()
    row("after the wait, in this order", ", ".join(done))

    target = memory.Buffer(MIB)
    faults.fail_next_copy("an injected error")
    memory.copy_(target, bytes(MIB), non_blocking=True, stream=first)
    row("a copy that fails was queued", "no error yet")
    try:
        first.synchronize()
    except accelerator.AcceleratorError as error:
        row("the wait raises AcceleratorError", error)


# 5. Each device has a caching allocator.


def memory_of_a_device() -> None:
    """Count allocations, and run out of memory."""
    heading(f"5. The memory of a device of {DEVICE_MEMORY // MIB} MiB")
    with memory.MemoryTracker() as tracker:
        kept = memory.Buffer(24 * MIB)
        memory.Buffer(16 * MIB).close()
        row("in use, at most in use", f"{tracker.current // MIB} MiB, {tracker.peak // MIB} MiB")
    row("in use, with the allocator's cache", used())
    try:
        memory.Buffer(48 * MIB)
    except interlock.OutOfMemoryError as error:
        row("48 MiB more raise OutOfMemoryError", str(error).partition(" (")[0])
    kept.close()
    memory.empty_cache()
    row("after close() and empty_cache()", used())


def used() -> str:
    """Return the bytes in use and those that the allocator has reserved."""
    return f"{memory.memory_allocated() // MIB} MiB, {memory.memory_reserved() // MIB} MiB"


def main() -> None:
    """Run the parts in order."""
    with_or_without = "with" if "tensor" in interlock.__features__ else "without"
    print(f"interlock {interlock.__version__}, {with_or_without} the tensor runtime")
    faults = testing.FaultInjector()
    accelerator.use("host", memory=DEVICE_MEMORY, faults=faults)
    scopes_of_tasks_and_threads()
    captured_state()
    who_set_what()
    streams_and_events(faults)
    memory_of_a_device()


if __name__ == "__main__":
    main()
