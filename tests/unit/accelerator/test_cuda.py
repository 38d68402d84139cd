"""Exits in the middle of work, forks and devices that break, with NVIDIA's driver on the stand-in."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.helpers import fake_cuda, fake_driver
from tests.helpers.subprocess import Result, eval_python, run_python
from tests.unit.accelerator.exit_scenarios import LEAVES, check

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is found as libraries are on Linux"),
    fake_driver.NEEDS_COMPILER,
]

# Since 3.12 Python warns of a fork in a process with threads, which is what is tried here.
OPTIONS = ("-W", "ignore:This process:DeprecationWarning")


def environment() -> dict[str, str]:
    return fake_cuda.environment() | {"INTERLOCK_ACCELERATOR": "cuda"}


def run(code: str) -> Result:
    return run_python(code, env=environment(), options=OPTIONS)


BUSY = """
    import atexit, os, random, signal, sys, threading, time
    atexit.register(lambda: print("registered before", flush=True))
    import interlock
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer, copy_, fill_

    chance, never, kept = random.Random({number}), threading.Event(), []

    class Told:
        def __call__(self):
            return len("abc")

    def recorded(device):
        stream, buffer = interlock.Stream(device, exclusive=True), Buffer(64, device)
        graph = accelerator.Graph(capture_error_mode="relaxed")
        with stream, graph:
            fill_(buffer, 3)
            accelerator.launch(stream, Told())
        return stream, graph, buffer

    def use(chance, device, everything):
        stream, graph, buffer = everything
        event = interlock.Event(enable_timing=True)
        for step in range(chance.randrange(3, 20)):
            what = chance.randrange(6)
            if what == 0:
                event.record(stream)
            elif what == 1:
                copy_(buffer, os.urandom(64), non_blocking=True, stream=stream)
            elif what == 2:
                copy_(bytearray(64), buffer, non_blocking=True, stream=stream)
            elif what == 3:
                accelerator.launch(stream, chance.choice((never.wait, Told(), Told())))
            elif what == 4:
                with stream:
                    graph.replay()
            else:
                kept.append(stream.record_event(interlock.Event()))
        kept.append((stream, graph, buffer, event))
        # Most never return.
        stream.synchronize() if chance.random() < 0.7 else None

    def use_until_exit(chance, device, everything):
        try:
            use(chance, device, everything)
        except RuntimeError as error:
            # A function cannot be launched while the interpreter is finalized.
            if "finalized" not in str(error):
                raise

    everything = [recorded(index % 2) for index in range(3)]
    for index in range(2):
        own = random.Random({number} + 1000 * index)
        threading.Thread(target=use_until_exit, args=(own, index, everything[index]), daemon=True).start()
    kept.append(everything)
    stream = everything[2][0]
    for step in range(chance.randrange(10)):
        accelerator.launch(stream, chance.choice((never.wait, Told())))
    sys.stdout.write("not flushed ")
    {leave}
"""


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("group", range(5))
def test_a_process_leaves_in_the_middle_of_work_with_its_own_status(leave: str, group: int) -> None:
    check(BUSY, leave, group, env=environment(), options=OPTIONS, handlers="registered before\n")


USED = """
    import ctypes, gc, os, sys
    import interlock
    from interlock import accelerator, errors
    from interlock.accelerator import memory
    from interlock.accelerator.memory import Buffer, copy_, fill_

    stream, event = interlock.Stream(exclusive=True), interlock.Event(enable_timing=True)
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
"""


def value(code: str) -> Any:
    return eval_python(USED + code, env=environment(), options=OPTIONS)


def test_a_forked_child_is_refused_every_handle_and_all_that_is_new_and_lets_its_parent_go_on() -> None:
    code = """
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
        told = {name: raised(use) for name, use in (USES | NEW).items()}
        why = accelerator.why_unavailable()
        del stream, event, buffer, graph, USES, NEW
        gc.collect()
        os.write(writing, repr((told, why, accelerator.is_available())).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        told, why, is_available = eval(pipe.read())
    _, status = os.waitpid(process, 0)
    answer = [told, why, is_available, status, [raised(use) for use in USES.values()]]
    """
    told, why, is_available, status, parent = value(code)
    assert {name for name, error in told.items() if error != "ForkedProcessError"} == set()
    assert "forked" in why
    assert (is_available, status) == (False, 0)
    assert parent == [None] * len(parent)


@pytest.mark.parametrize("code", [700, 719])
def test_a_device_that_breaks_is_lost_for_good_and_the_process_ends_as_it_wants(code: int) -> None:
    script = f"""
    other = interlock.Stream(1)
    driver = ctypes.CDLL("libcuda.so.1")
    assert driver.fake_cuda_break_device(0, {code}) == 0
    try:
        stream.synchronize()
    except errors.AcceleratorError as error:
        first = [type(error).__name__, error.error_code, error.operation, str(error)]
    later = {{name: raised(use) for name, use in USES.items()}}
    fill_(Buffer(8, 1), 1, stream=other)
    other.synchronize()
    memory.empty_cache()
    del stream, event, buffer, graph, USES
    gc.collect()
    answer = [first, later]
    """
    (name, number, operation, text), later = value(script)
    assert (name, number, operation) == ("AcceleratorError", code, "Stream.synchronize")
    assert {700: "CUDA_ERROR_ILLEGAL_ADDRESS", 719: "CUDA_ERROR_LAUNCH_FAILED"}[code] in text
    assert set(later.values()) == {"DeviceLostError"}


def test_nothing_is_said_when_the_process_ends_with_a_device_that_broke() -> None:
    code = """
        import atexit, ctypes
        import interlock
        from interlock import accelerator
        from interlock.accelerator.memory import Buffer, fill_

        stream, buffer, pinned = interlock.Stream(exclusive=True), Buffer(1 << 20), bytearray(8)
        kept = [stream.record_event(interlock.Event()) for _ in range(3)]
        fill_(buffer, 1, stream=stream)
        accelerator.launch(stream, len, "abc")
        ctypes.CDLL("libcuda.so.1").fake_cuda_break_device(0, 719)
        print("end")
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")
