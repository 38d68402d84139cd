"""Exits with open scopes and running threads."""

from __future__ import annotations

import builtins
import copy
import os
import sys
import threading
import time
from collections.abc import Iterator

import interlock
from interlock import aio, backends, settings


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

    @staticmethod
    def call(*arguments: object, **named: object) -> None:
        work()

    def numbers() -> Iterator[int]:
        yield 1

    class Scope(interlock.no_grad):
        def __init__(self, method: str) -> None:
            super().__init__()
            setattr(Scope, method, call)

        def clone(self) -> Scope:
            return self

    class Foreign:
        _annotate = __dlpack_device__ = __dlpack__ = __deepcopy__ = call

    def tensor_with(attribute: object) -> interlock.nn.Parameter:
        tensor = interlock.nn.Parameter(interlock.ones(1))
        tensor.attribute = attribute
        return tensor

    config = {"level": 0}

    def set_level(level: int) -> None:
        config["level"] = level
        if level == 0:
            work()

    settings.register(settings.Setting("mylib.level", get=lambda: config["level"], set=set_level))
    entered = threading.Event()
    scope = globals() | locals()
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
