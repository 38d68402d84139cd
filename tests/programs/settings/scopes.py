"""Scopes of settings that many threads, tasks and processes enter, and scopes of every setting of PyTorch."""

import asyncio
import contextvars
import json
import os
import random
import sys
import threading
import time

from interlock import settings
from interlock.errors import SettingConflictError, SettingValueError
from interlock.settings import _scopes


def declared(*names):
    """Return the values of new settings "mylib.<name>", which are 0."""
    config = dict.fromkeys(names, 0)
    settings.register(
        *(
            settings.Setting(
                f"mylib.{name}",
                get=lambda name=name: config[name],
                set=lambda value, name=name: config.update({name: value}),
            )
            for name in names
        )
    )
    return config


def overlap_threads(values, on_conflict):
    threads_count, rounds = 32, 60
    config = declared("level")
    wrong, entered, refused, failed = [], *([0] * threads_count for _ in range(3))
    start = threading.Barrier(threads_count)
    options = {"timeout": 60} if on_conflict == "wait" else {}

    def work(index):
        choose = random.Random(index)
        start.wait()
        for _ in range(rounds):
            value = choose.choice(values)
            try:
                with settings.override({"mylib.level": value}, on_conflict=on_conflict, **options):
                    entered[index] += 1
                    for _ in range(3):
                        if config["level"] != value:
                            wrong.append([value, config["level"]])
                        time.sleep(0)
                    with settings.override({"mylib.level": value}):
                        if config["level"] != value:
                            wrong.append([value, config["level"]])
                    if choose.random() < 0.2:
                        raise KeyError
            except KeyError:
                failed[index] += 1
            except SettingConflictError:
                refused[index] += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "wrong": wrong,
        "entered": sum(entered),
        "refused": sum(refused),
        "failed": sum(failed),
        "rounds": threads_count * rounds,
        "level": config["level"],
        "held": settings.explain("mylib.level").held_by,
    }


def cancel_tasks_of_several_event_loops():
    loops, tasks_of_loop = 4, 50
    config = declared("level")
    wrong, entered, cancelled = [], [], []

    async def hold(value):
        async with settings.override({"mylib.level": value}, on_conflict="wait", timeout=60):
            entered.append(value)
            for _ in range(3):
                if config["level"] != value:
                    wrong.append([value, config["level"]])
                await asyncio.sleep(0.0005)

    async def main(seed):
        choose = random.Random(seed)
        tasks = [
            asyncio.create_task(hold(choose.randint(1, 5)), context=contextvars.copy_context())
            for _ in range(tasks_of_loop)
        ]
        await asyncio.sleep(0)
        # All but the first wait, or have joined it.
        tasks[-1].cancel()
        while pending := [task for task in tasks if not task.done()]:
            if choose.random() < 0.3:
                choose.choice(pending).cancel()
            await asyncio.sleep(0.002)
        for task in tasks:
            if task.cancelled():
                cancelled.append(seed)
            elif task.exception() is not None:
                raise task.exception()

    threads = [threading.Thread(target=lambda seed=seed: asyncio.run(main(seed))) for seed in range(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "wrong": wrong,
        "entered": len(entered),
        "cancelled": len(cancelled),
        "level": config["level"],
        "held": settings.explain("mylib.level").held_by,
    }


def fork_while_other_threads_hold():
    config = declared("level", "other")
    held, done, stop = threading.Event(), threading.Event(), threading.Event()

    def hold():
        with settings.override({"mylib.level": 1}):
            held.set()
            done.wait(60)

    def keep_the_lock_busy():
        while not stop.is_set():
            settings.writes()

    threads = [threading.Thread(target=hold), threading.Thread(target=keep_the_lock_busy)]
    for thread in threads:
        thread.start()
    held.wait(60)
    results = []
    with settings.override({"mylib.other": 5}):
        for _ in range(20):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                found = [config["level"], config["other"], settings.explain("mylib.level").held_by]
                with settings.override({"mylib.level": 2}):
                    found.append(config["level"])
                os.write(write, json.dumps(found).encode())
                os._exit(0)
            os.waitpid(child, 0)
            results.append(json.loads(os.read(read, 4096)))
            os.close(read), os.close(write)
    parent = config["level"]
    done.set(), stop.set()
    for thread in threads:
        thread.join()
    return [results, parent, config["level"]]


def fork_inside_a_setter_of_another_thread(is_in_a_scope):
    """Fork while another thread writes, and return what the child has recorded and can hold."""
    config = declared("level")
    library = sys.modules["other_library"] = type(sys)("other_library")
    written, leave = threading.Event(), threading.Event()

    def set_value(value):
        if value == 1:
            written.set()
            leave.wait(60)
        config["value"] = value

    config["value"], library.set_value = 0, set_value
    settings.register(
        settings.Setting(
            "other_library.value",
            get=lambda: config["value"],
            set=lambda value: library.set_value(value),
            writers=("other_library.set_value",),
        )
    )

    def write():
        if is_in_a_scope:
            with settings.override({"mylib.level": 1, "other_library.value": 1}):
                pass
        else:
            library.set_value(1)

    thread = threading.Thread(target=write)
    thread.start()
    written.wait(60)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        library.set_value(2)
        last = settings.writes(["other_library.value"])[-1]
        with settings.override({"mylib.level": 2}):
            found = [last.function, last.new, config["level"]]
        os.write(writing, json.dumps([*found, config["level"]]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    leave.set()
    thread.join()
    return json.loads(os.read(reading, 4096))


def list_scopes_while_other_threads_enter_some():
    """Return how often the open scopes were listed, and those that are left."""
    declared("level")
    sys.setswitchinterval(1e-6)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            with settings.override({"mylib.level": 1}), settings.override({"mylib.level": 1}):
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    count = 0
    try:
        for _ in range(20_000):
            _scopes.open_scopes()
            count += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return [count, len(_scopes.open_scopes())]


def override_every_setting_of_torch():
    others = {
        True: False,
        False: True,
        "none": "ieee",
        "tf32": "ieee",
        "ieee": "tf32",
        "highest": "high",
        "float32": "float64",
        "float16": "bfloat16",
        "bfloat16": "float16",
        "x86": "fbgemm",
    }
    settings.enable("torch")
    before_import = settings.names()
    import torch

    names = settings.names()
    first = settings.snapshot()
    read_only, refused, unset, left = [], {}, [], []
    for name in names:
        value = settings.explain(name).value
        other = value + 1 if type(value) is int else others.get(value)
        if name.startswith("torch.default_device"):
            other = "meta"
        if other is None:
            continue
        try:
            with settings.override({name: other}):
                if settings.explain(name).value != other:
                    unset.append(name)
        except SettingValueError as error:
            read_only.append(name) if "is read-only" in str(error) else refused.update({name: str(error)})
        left += [f"{name}: {each}" for each in settings.diff(first)]
    # The settings that are left out of a snapshot, because PyTorch cannot read them, would be missed here.
    missing = sorted(set(names) - set(first) - set(settings.snapshot()))
    unseen = [str(write) for write in settings.writes() if write.file is None]
    settings.disable("torch")
    originals = [torch._C._set_cudnn_benchmark, torch.set_num_threads, torch._C.set_num_threads]
    originals.append(type(torch.backends.opt_einsum).__setattr__)
    return {
        "before_import": before_import,
        "names": names,
        "values": {name: first.get(name) for name in names},
        "read_only": read_only,
        "refused": refused,
        "unset": unset,
        "left": left,
        "missing": missing,
        "unseen": unseen,
        "wrapped": [hasattr(each, "__wrapped__") for each in originals],
        "cuda": torch.cuda.is_initialized(),
    }


def override_mixed_precisions():
    """Return what a scope leaves in another over the same precision, which PyTorch cannot read."""
    settings.enable("torch")
    import torch

    node, alias = "torch.backends.cuda.matmul.fp32_precision", "torch.float32_matmul_precision"
    errors = []

    def seen():
        return [str(settings.explain(name).value).partition(":")[0] for name in (node, alias)]

    def override_elsewhere(value):
        try:
            with settings.override({alias: value}):
                pass
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}".partition(" held")[0])

    found = [seen()]
    for value in ("highest", "high", "medium"):
        with settings.override({node: "tf32"}):
            mixed = seen()
            with settings.override({alias: value}):
                inside = seen()
            thread = threading.Thread(target=override_elsewhere, args=(value,))
            between = seen()
            thread.start()
            thread.join()
            found.append([mixed, inside, between, seen()])
        found.append(seen())
    return [found, errors]


LIBRARY_THAT_NEEDS_ITSELF = """
import sys

level = 0

def read():
    return level

def write(value):
    sys.modules["mylib"].level = value
"""


def left_to_a_generator():
    """Keep a scope open in a generator that is closed when the modules have been cleared."""
    global suspended

    def generator():
        with settings.override({"mylib.level": 1}):
            yield

    # Its functions are not of this module, whose names they would keep alive.
    library = vars(sys.modules.setdefault("mylib", type(sys)("mylib")))
    exec(LIBRARY_THAT_NEEDS_ITSELF, library)
    settings.register(settings.Setting("mylib.level", get=library["read"], set=library["write"]))
    suspended = generator()
    next(suspended)
    return library["level"]
