"""Waits for tensors of a device whose stream waits."""

import os
import signal
import threading
import time

import interlock
from interlock import accelerator

signal.signal(signal.SIGINT, signal.default_int_handler)
x = interlock.ones(2, device="host:0")
stream = accelerator.current_stream("host:0")
open_it, beats, done = threading.Event(), [], threading.Event()
accelerator.launch(stream, open_it.wait)


def interrupt_a_wait_for_a_tensor(wait):
    def interrupt():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        # An interrupted `exec` of text would make CPython end with SIGINT.
        exec(compile(wait, "wait", "exec"))
        result = "it did not wait"
    except KeyboardInterrupt:
        open_it.set()
        return x.tolist()


def wait_for_a_tensor_lets_other_threads_run(wait):
    view = x[:1]

    def go_on():
        time.sleep(0.05)
        open_it.set()

    threading.Thread(target=go_on).start()
    exec(wait, globals() | {"x": view})
    return view.tolist()
