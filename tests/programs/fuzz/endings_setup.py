# The beginning of each random program, included as text so that its objects belong to the main module.
import _thread
import asyncio
import atexit
import builtins
import gc
import os
import random
import signal
import sys
import threading
import time
import weakref

import interlock
from interlock import accelerator, aio, backends, errors, state
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer, copy_, fill_

# CPython does not release the lock of a stream's buffer in a forked child: a thread that prints a traceback
# at the time of a fork would block the child when it flushes.
threading.excepthook = lambda *_: None
# A shell starts background jobs with ignored interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# No object may be destroyed before the exit: it may wait for an event that only the exit triggers.
gc.disable()
kept, never = [], threading.Event()
# The last two are dedicated: a capture on a pooled stream would affect later streams of the program.
streams = [interlock.Stream(index % 2, dedicated=bool(index & 2)) for index in range(4)]
stream, event, timed = streams[0], interlock.Event(), interlock.Event(enable_timing=True)
buffer, graph = Buffer(1 << 12), accelerator.Graph(capture_error_mode="relaxed")


def spin():
    while True:
        pass


def loop(function):
    def forever():
        while True:
            try:
                function()
            except Exception:
                time.sleep(0.001)

    threading.Thread(target=forever, daemon=True).start()


@interlock.no_grad()
def numbers():
    while True:
        yield interlock.is_grad_enabled()


class Last:
    def __init__(self, function):
        self.function = function

    def __del__(self):
        try:
            self.function()
        except Exception:
            pass


def work_until(done):
    end = time.monotonic() + 30
    while not done and time.monotonic() < end:
        interlock.ones(30, 30).matmul(interlock.ones(30, 30)).sum().item()
        with interlock.no_grad(), backends.override({"cudnn.enabled": False}):
            interlock.Stream().synchronize()


def exit_from_a_handler(delay):
    done = []

    def leave(*_):
        done.append(1)
        raise SystemExit(5)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, delay)
    work_until(done)
    sys.exit(5)


def be_killed_by(number, delay):
    signal.signal(number, signal.SIG_DFL)
    threading.Timer(delay, os.kill, (os.getpid(), number)).start()
    work_until([])
    time.sleep(30)
