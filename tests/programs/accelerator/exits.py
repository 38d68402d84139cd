"""Exits of a process that uses devices. Global objects are alive until the interpreter clears the module."""

import atexit
import builtins
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time


def call_in_a_late_finalizer(handler_is_late, action, setup):
    global stream, event, buffer, other, graph, never

    def late_handler():
        try:
            accelerator.launch(stream, never.wait)
        except RuntimeError:  # Python 3.12 no longer starts threads at this time.
            pass

    if handler_is_late:
        atexit.register(late_handler)
    import interlock
    from interlock import accelerator
    from interlock.accelerator import memory

    stream, event, buffer = interlock.Stream(), interlock.Event(), memory.Buffer(64)
    other, graph, never = interlock.Stream(), accelerator.Graph(), threading.Event()
    with other, graph:
        accelerator.launch(other, len, "z")

    class Late:
        def __del__(self, accelerator=accelerator, memory=memory, never=never, write=os.write):
            try:
                exec(action)
            except RuntimeError as error:
                write(2, str(error).encode())
            else:
                write(2, b"done")

        state = stream, event, buffer, other, graph

    exec(setup)
    builtins.late = Late()
    sys.stdout.write("end")


def call_the_exit_handlers_directly():
    global stream, seen, thread
    import interlock
    from interlock import accelerator

    atexit._run_exitfuncs()
    stream, seen = interlock.Stream(), []
    thread = threading.Thread(target=lambda: seen.append(accelerator.device_count()))
    thread.start()
    thread.join()
    accelerator.launch(stream, seen.append, 1)
    stream.synchronize()
    print(seen)


def earlier_exit_handlers_are_not_delayed(handler):
    global worker

    def lock_of_logging():
        import logging

        logging.basicConfig(filename=os.devnull)
        from interlock import accelerator

        class Shown:
            def __str__(self):
                return str(accelerator.device_count())

        def work():
            while True:
                logging.error("%s", Shown())

        return work

    def join():
        import atexit

        ended = threading.Event()
        atexit.register(lambda: (ended.set(), worker.join()))
        from interlock import accelerator

        def work():
            while not ended.is_set():
                accelerator.device_count()

        return work

    worker = threading.Thread(
        target={"a lock of logging": lock_of_logging, "a join": join}[handler](), daemon=True
    )
    worker.start()
    time.sleep(0.1)
    print("end")


def exit_during_queued_work_on_host(number, leave):
    global chance, never, streams, buffers, kept, stream, what, buffer
    import random

    atexit.register(lambda: print("registered before", flush=True))
    import interlock
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer, copy_, fill_

    atexit.register(lambda: print("registered after"))

    chance = random.Random(number)
    never = threading.Event()
    streams = [interlock.Stream(index % 2, dedicated=chance.random() < 0.5) for index in range(4)]
    buffers = [Buffer(1 << 16, index) for index in range(2)]
    kept = []

    def spin():
        while True:
            pass

    for step in range(chance.randrange(5, 40)):
        stream, what = chance.choice(streams), chance.randrange(7)
        if what == 0:
            kept.append(stream.record_event(interlock.Event(enable_timing=True)))
        elif what == 1 and kept:
            stream.wait_event(chance.choice(kept))
        elif what == 2:
            copy_(buffers[stream.device_index], os.urandom(1 << 16), non_blocking=True, stream=stream)
        elif what == 3:
            copy_(bytearray(1 << 16), buffers[stream.device_index], non_blocking=True, stream=stream)
        elif what == 4:
            accelerator.launch(stream, chance.choice((never.wait, spin, os.getpid, os.getpid, os.getpid)))
        elif what == 5:
            buffer = chance.choice(buffers)
            fill_(buffer, 1, stream=interlock.accelerator.current_stream(buffer.device))
        else:
            threading.Thread(target=chance.choice(streams).synchronize, daemon=True).start()
    sys.stdout.write("not flushed ")
    exec(leave)


def exit_during_queued_work_on_cuda(number, leave):
    global chance, never, kept, everything, own, stream
    import random

    atexit.register(lambda: print("registered before", flush=True))
    import interlock
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer, copy_, fill_

    chance, never, kept = random.Random(number), threading.Event(), []

    class ReportsItsEnd:
        def __call__(self):
            return len("abc")

    def recorded(device):
        stream, buffer = interlock.Stream(device, dedicated=True), Buffer(64, device)
        graph = accelerator.Graph(capture_error_mode="relaxed")
        with stream, graph:
            fill_(buffer, 3)
            accelerator.launch(stream, ReportsItsEnd())
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
                accelerator.launch(stream, chance.choice((never.wait, ReportsItsEnd(), ReportsItsEnd())))
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
        own = random.Random(number + 1000 * index)
        threading.Thread(target=use_until_exit, args=(own, index, everything[index]), daemon=True).start()
    kept.append(everything)
    stream = everything[2][0]
    for step in range(chance.randrange(10)):
        accelerator.launch(stream, chance.choice((never.wait, ReportsItsEnd())))
    sys.stdout.write("not flushed ")
    exec(leave)


def exit_handler_can_wait_for_queued_work():
    global stream, seen
    import interlock
    from interlock import accelerator

    stream, seen = interlock.Stream(), []

    def finish():
        accelerator.launch(stream, seen.append, 1)
        stream.synchronize()
        print(seen)

    atexit.register(finish)
    # Python 3.12 no longer starts threads at this time, so a worker thread must exist already.
    accelerator.launch(stream, seen.append, 0)
    stream.synchronize()


def function_waiting_for_a_stream_is_woken_before_finalization():
    global stream
    import interlock
    from interlock import accelerator

    class ReportsItsEnd:
        def __call__(self):
            pass

        def __del__(self):
            print("gone")

    stream = interlock.Stream()
    accelerator.launch(stream, threading.Event().wait)
    accelerator.launch(stream, ReportsItsEnd())


def thread_in_synchronize_does_not_abort_the_process():
    global stream, never
    import interlock
    from interlock import accelerator

    stream, never = interlock.Stream(), threading.Event()
    accelerator.launch(stream, never.wait)
    for _ in range(8):
        threading.Thread(target=stream.synchronize, daemon=True).start()
    time.sleep(0.1)
    print("end")


def exit_with_a_failed_device_prints_nothing():
    global stream, buffer, pinned, kept
    import interlock
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer, fill_

    stream, buffer, pinned = interlock.Stream(dedicated=True), Buffer(1 << 20), bytearray(8)
    kept = [stream.record_event(interlock.Event()) for _ in range(3)]
    fill_(buffer, 1, stream=stream)
    accelerator.launch(stream, len, "abc")
    ctypes.CDLL("libcuda.so.1").fake_cuda_break_device(0, 719)
    print("end")


def exit_with_live_views_and_capsules_does_not_crash():
    global buffer, kept
    import numpy
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer

    accelerator.use("host")
    buffer = Buffer(8).fill_(1)
    kept = [memoryview(buffer), buffer.__dlpack__(), buffer.__dlpack__(max_version=(1, 0))]
    kept += [numpy.from_dlpack(buffer), kept]


def exit_while_an_on_oom_callback_never_returns(never):
    global begun
    from interlock import accelerator
    from interlock.accelerator import memory

    accelerator.use("host", memory=8 << 20)
    begun = threading.Event()

    def spin():
        while True:
            pass

    def callback(error):
        begun.set()
        exec(never, globals() | {"spin": spin})

    memory.on_oom(callback)
    threading.Thread(target=memory.Buffer, args=(1 << 30,), daemon=True).start()
    begun.wait()


def exit_while_on_oom_callbacks_run(leave):
    from interlock import accelerator, errors
    from interlock.accelerator import memory
    from interlock.accelerator.memory import Buffer

    accelerator.use("host", memory=8 << 20)

    def allocate():
        while True:
            try:
                Buffer(1 << 30)
            except errors.OutOfMemoryError:
                pass

    class ReportsItsEnd:
        def __call__(self, error):
            sum(range(1000))
            return False

        def __del__(self):
            print("gone", flush=True)

    memory.on_oom(ReportsItsEnd())
    for _ in range(3):
        threading.Thread(target=allocate, daemon=True).start()

    def allocate_once():
        try:
            Buffer(1 << 30)
        except errors.OutOfMemoryError:
            pass

    def fork():
        child = os.fork()
        if child == 0:
            allocate_once()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    exec(leave)


def exit_while_a_thread_waits_for_a_device(pause):
    global stream, waits
    import interlock
    from interlock import accelerator

    stream = interlock.Stream()
    accelerator.launch(stream, threading.Event().wait)
    waits = (stream.synchronize, accelerator.synchronize, stream.record_event().synchronize)
    for wait in waits:
        threading.Thread(target=wait, daemon=True).start()
    time.sleep(pause)


def interrupted_process(seed):
    global chance, streams, buffers, armed, interrupts, forked
    import random

    import interlock
    from interlock import accelerator
    from interlock.accelerator import memory

    chance = random.Random(seed)
    streams = [interlock.Stream(index % 2, dedicated=index > 3) for index in range(6)]
    buffers = [memory.Buffer(1 << 12, index) for index in range(2)]

    def graph():
        stream, recorded = interlock.Stream(0), accelerator.Graph(capture_error_mode="relaxed")
        with stream:
            recorded.capture_begin()
            memory.fill_(buffers[0], 1)
            recorded.capture_end()
            recorded.replay()

    def too_much():
        with memory.on_oom(lambda error: False):
            memory.Buffer(1 << 50)

    def step(chance):
        stream, index = chance.choice(streams), chance.randrange(2)
        action = chance.choice(
            [
                lambda: memory.fill_(buffers[index], 1),
                lambda: memory.copy_(bytearray(1 << 12), buffers[index]),
                lambda: memory.copy_(buffers[0], buffers[1], non_blocking=True),
                lambda: accelerator.launch(stream, time.sleep, 0.0001),
                lambda: chance.choice(streams).wait_event(stream.record_event()),
                lambda: stream.record_event().synchronize(),
                lambda: accelerator.synchronize(index),
                lambda: interlock.ones(8, device=f"host:{index}").sum().item(),
                accelerator.empty_cache,
                graph,
                too_much,
            ]
        )
        with contextlib.suppress(RuntimeError):
            action()

    def steps(chance, count):
        for _ in range(count):
            step(chance)

    class Late:
        def __del__(self, steps=steps, chance=chance):
            steps(chance, 10)

    def interrupt():
        for _ in range(5):
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

    armed = []

    def handler(*_):
        # Only during the steps, and once.
        if armed:
            armed.clear()
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    builtins.late = Late()
    for number in range(2):
        threading.Thread(target=steps, args=(random.Random(number), sys.maxsize), daemon=True).start()
    interrupts = threading.Thread(target=interrupt)
    interrupts.start()
    while interrupts.is_alive():
        with contextlib.suppress(KeyboardInterrupt):
            armed.append(True)
            steps(chance, 5)
            armed.clear()
    for _ in range(3):
        forked = os.fork()
        if forked == 0:
            signal.alarm(30)
            steps(chance, 10)
            sys.exit(0)
        assert os.waitpid(forked, 0)[1] == 0
    os.write(1, b"end")
