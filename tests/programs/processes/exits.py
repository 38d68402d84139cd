"""Exits with open scopes and running threads."""

import builtins
import os
import sys
import threading
import time

import interlock
from interlock import aio, backends


def destructor_at_exit_does_not_crash_the_process(words):
    class Last:
        def __del__(self, interlock=interlock, backends=backends):
            try:
                exec(words)
            except Exception:
                pass

    builtins.last = Last()


def exit_ends_a_daemon_thread_during_its_work(at_work):
    global entered

    def work() -> None:
        entered.set()
        while True:
            time.sleep(0.001)

    async def task() -> None:
        work()

    entered = threading.Event()
    scope = globals() | {"work": work, "task": task}
    threading.Thread(target=eval, args=(at_work, scope), daemon=True).start()
    entered.wait()
    time.sleep(0.05)


def exit_inside_scopes_keeps_the_exit_code(code):
    global entered

    def stay() -> None:
        with interlock.no_grad(), backends.cudnn.flags():
            entered.set()
            threading.Event().wait()

    entered = threading.Event()
    threading.Thread(target=stay, daemon=True).start()
    entered.wait()
    interlock.inference_mode().__enter__()
    backends.frozen().__enter__()
    raise SystemExit(code)
