"""Functions of settings that wait for other threads, which use settings meanwhile."""

import asyncio
import importlib
import os
import sys
import threading

from interlock import settings, threads
from interlock.errors import SettingConflictError
from interlock.settings import _locks, _override


def setter_waits_for_a_thread(use):
    """Return the values in and after a scope whose setter waits for a thread with a use of settings."""
    settings.enable("environ", "numpy")
    import numpy as np

    config, errors = {"workers": 2}, []
    uses = {
        "write a variable": lambda: os.environ.update(OMP_NUM_THREADS="3"),
        "write": lambda: np.seterr(over="raise"),
        "explain": lambda: settings.explain("mylib.workers"),
        "snapshot": settings.snapshot,
        "restore": lambda: settings.restore({"environ.OMP_NUM_THREADS": "2"}),
        "writes": settings.writes,
        "names": settings.names,
        "enable": lambda: settings.enable("jax"),
        "register": lambda: settings.register(settings.Setting("other.level", get=lambda: 1)),
        "limits": lambda: threads.limits(1, pools=["interlock"]).__enter__(),
        "override": lambda: settings.override({"environ.MKL_NUM_THREADS": "1"}).__enter__(),
        "pin": lambda: settings.pin({"environ.MKL_NUM_THREADS": "1"}),
    }

    def run():
        try:
            uses[use]()
        except Exception as error:
            errors.append(str(error))

    def configure(value):
        worker = threading.Thread(target=run)
        worker.start()
        worker.join()
        config["workers"] = value

    settings.register(settings.Setting("mylib.workers", get=lambda: config["workers"], set=configure))
    with settings.override({"mylib.workers": 4}):
        inside = config["workers"]
    return [inside, config["workers"], errors]


SLOW_MODULE = """
import numpy as np
import imports
imports.started.set()
imports.go_on.wait(60)
np.seterr(over="raise")
level = 5
"""


def getter_waits_for_an_import():
    """Return the value of a setting whose getter imports a module that another thread imports."""
    settings.enable("numpy")
    import numpy as np

    imports = sys.modules["imports"] = type(sys)("imports")
    imports.started, imports.go_on = threading.Event(), threading.Event()
    with open("slow_module.py", "w") as file:
        file.write(SLOW_MODULE)
    sys.path.insert(0, os.getcwd())

    def level():
        # Without the import at the registration.
        if not imports.started.is_set():
            return 0
        imports.go_on.set()
        return importlib.import_module("slow_module").level

    settings.register(settings.Setting("mylib.level", get=level))
    other = threading.Thread(target=lambda: importlib.import_module("slow_module"))
    other.start()
    imports.started.wait(60)
    found = settings.snapshot()["mylib.level"]
    other.join()
    return found


def task_enters_while_a_setter_waits(name):
    """Return what a task enters while the setter of "mylib.level", in another thread, waits for the task."""
    config = {"level": 0, "other": 0}
    started, go_on = threading.Event(), threading.Event()

    def set_level(value):
        if value == 1:
            started.set()
            go_on.wait(60)
        config["level"] = value

    for key, write in (("level", set_level), ("other", lambda value: config.update(other=value))):
        settings.register(settings.Setting(f"mylib.{key}", get=lambda key=key: config[key], set=write))

    def hold():
        with settings.override({"mylib.level": 1}):
            held.wait(60)

    async def tick():
        # The other task may wait for the lock, but the event loop runs.
        for _ in range(20):
            await asyncio.sleep(0.001)
        go_on.set()

    async def main():
        ticking = asyncio.create_task(tick())
        async with settings.override({f"mylib.{name}": 1}):
            is_waiting = not go_on.is_set()
            await ticking
            found = [is_waiting, config[name]]
            held.set()
        return found

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    started.wait(60)
    found = asyncio.run(main())
    thread.join()
    return [found, config]


def setter_waits_for_a_thread_with_the_same_setting(use):
    """Return the error of a thread that needs the setting whose setter waits for the thread."""
    _override.LONGEST_WAIT = _locks.LONGEST_WAIT = 0.2
    config, errors = {"level": 0}, []
    outer = None

    def enter():
        with settings.override({"mylib.level": 1}):
            pass

    uses = {"enter": enter, "exit": lambda: outer.__exit__(None, None, None)}

    def run():
        try:
            uses[use]()
        except SettingConflictError as error:
            errors.append(str(error))

    def set_level(value):
        if value == 1:
            worker = threading.Thread(target=run)
            worker.start()
            worker.join()
        config["level"] = value

    settings.register(
        settings.Setting("mylib.level", get=lambda: config["level"], set=set_level),
    )
    if use == "exit":
        outer = settings.override({"mylib.level": 2})
        outer.__enter__()
    with settings.override({"mylib.level": 1}):
        inside = config["level"]
    return [inside, config["level"], errors, settings.explain("mylib.level").held_by]
