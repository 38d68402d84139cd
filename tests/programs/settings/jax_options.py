"""Overrides and writes of the options of JAX."""

import asyncio
import json
import os
import sys
import threading

from interlock import settings
from interlock.errors import SettingPinnedError, SettingValueError

X64 = "jax.config.jax_enable_x64"
OTHERS = {
    True: False,
    False: True,
    "standard": "strict",
    "allow": "warn",
    "unset": None,
    "jax.config.jax_default_matmul_precision": "high",
    "jax.default_matmul_precision": "high",
    "jax.config.jax_explicit_x64_dtypes": "error",
    "jax.config.jax_transfer_guard": "log",
    "jax.config.jax_transfer_guard_device_to_host": "log",
    "jax.default_device": "cpu",
    "jax.transfer_guard_host_to_device": "log",
}


def other_value(name, value):
    """Return another value of an option; None if none is known."""
    if name in OTHERS:
        return OTHERS[name]
    if type(value) in (int, float):
        return value + 1
    if value == "unset":
        return other_value("", settings.explain(f"jax.config.jax_{name.removeprefix('jax.')}").value)
    return OTHERS.get(value)


def override_every_option():
    settings.enable("jax")
    before_import = [settings.names(), "jax" in sys.modules]
    import jax

    names = settings.names()
    first = settings.snapshot()
    json.dumps(first)
    refused, unset, left, changed = {}, [], [], 0
    for name in names:
        value = other_value(name, settings.explain(name).value)
        if value is None:
            continue
        try:
            with settings.override({name: value}):
                changed += 1
                if settings.explain(name).value != value:
                    unset.append(name)
        except SettingValueError as error:
            refused[name] = str(error)
        left += [f"{name}: {each}" for each in settings.diff(first)]
    unseen = [str(write) for write in settings.writes() if write.file is None]
    settings.disable("jax")
    holders = jax.config._value_holders.values()
    return {
        "before_import": before_import,
        "names": names,
        "values": {name: first.get(name) for name in names},
        "changed": changed,
        "refused": refused,
        "unset": unset,
        "left": left,
        "unseen": unseen,
        "wrapped": any(hasattr(type(holder)._set, "__wrapped__") for holder in holders),
        "backends": len(jax._src.xla_bridge._backends),
    }


def who(name, write):
    count = len(settings.explain(name).writes)
    write()
    return [
        [each.function, os.path.basename(each.file or "?"), each.old, each.new, each.at_import]
        for each in settings.explain(name).writes[count:]
    ]


def by_update():
    import jax

    jax.config.update("jax_enable_x64", True)


def by_function():
    from jax._src.config import update

    update("jax_enable_x64", False)


def by_thread():
    thread = threading.Thread(target=by_update)
    thread.start()
    thread.join()


def by_flag():
    import jax

    jax.config.update("jax_platform_name", "cpu")


def unseen():
    import jax

    jax.config._value_holders["jax_enable_x64"].set_global(False)


def at_import():
    sys.path.append(os.path.dirname(__file__))
    import jax_options_at_import


def guard():
    import jax

    jax.config.update("jax_transfer_guard", "log")


def find_who_writes():
    settings.enable("jax")
    import jax

    direction = "jax.config.jax_transfer_guard_host_to_device"
    found = {
        "update": who(X64, by_update),
        "function": who(X64, by_function),
        "thread": who(X64, by_thread),
        "unseen": who(X64, lambda: (unseen(), settings.writes())),
        "import": who(X64, at_import),
        "flag": who("jax.config.jax_platform_name", by_flag),
        "guard": who(direction, guard),
        "other": who("jax.config.jax_debug_nans", by_update),
    }
    refused = None
    with settings.pin({X64: False}):
        try:
            by_update()
        except SettingPinnedError as error:
            refused = str(error)
        kept = jax.config.jax_enable_x64
    return found | {"pinned": refused, "kept": kept}


def seen(name="jax_enable_x64"):
    """Return the value that this thread computes with."""
    import jax

    return getattr(jax.config, name)


def on_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def override_on_threads_and_in_the_process():
    settings.enable("jax")
    import jax

    found = {}
    with settings.override({"jax.enable_x64": True}):
        found["thread"] = [seen(), on_thread(seen), settings.explain(X64).value]
        with settings.override({"jax.enable_x64": "unset"}):
            found["unset"] = seen()
    with settings.override({X64: True}):
        found["process"] = [seen(), on_thread(seen), settings.explain("jax.enable_x64").value]
        with settings.override({"jax.enable_x64": False}):
            found["thread in process"] = [seen(), on_thread(seen)]
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found["own"] = [settings.explain("jax.enable_x64").value, settings.explain(X64).value]
        with settings.override({"jax.enable_x64": False}):
            found["in own"] = seen()
        found["own again"] = seen()
    # A thread without a value follows the process again.
    jax.config.update("jax_enable_x64", True)
    found["follows"] = seen()
    jax.config.update("jax_enable_x64", False)

    async def task(value):
        async with settings.override({X64: value}, on_conflict="wait"):
            await asyncio.sleep(0.001)
            return seen() is value

    async def tasks():
        return await asyncio.gather(*(task(value) for value in (True, False, True)))

    found["tasks"] = asyncio.run(tasks())
    found["after"] = seen()
    return found


def write_after_the_start_of_backends():
    settings.enable("jax", "environ")
    import jax

    name = "jax.config.jax_platforms"
    before = settings.explain(name).too_late
    with settings.override({name: "cpu"}):
        devices = jax.devices()
    errors = []
    device = f"cpu:{devices[-1].id}"
    for values in ({name: "tpu"}, {"jax.default_device": "cpu:77"}, {X64: 1}):
        try:
            with settings.override(values):
                errors.append("accepted")
        except SettingValueError as error:
            errors.append(str(error))
    with settings.override({"jax.default_device": devices[-1]}):
        found = [
            settings.explain("jax.default_device").value == device,
            seen("jax_default_device") is devices[-1],
        ]
    with settings.override({"jax.config.jax_default_device": device}):
        found.append(seen("jax_default_device") is devices[-1])
    first = settings.snapshot()
    jax.config.update("jax_default_device", devices[0])
    settings.restore(json.loads(json.dumps(first)))
    return {
        "before": before,
        "text": str(settings.explain(name)).splitlines(),
        "environ": settings.explain("environ.JAX_ENABLE_X64").too_late,
        "errors": errors,
        "devices": found,
        "restored": settings.explain("jax.config.jax_default_device").value,
        "note": settings.explain(X64).note,
    }


def compile_again():
    """Return the options whose other values compile a function again, and those with a guard."""
    settings.enable("jax")
    import jax

    argument = jax.numpy.ones(3)
    compiled, tried = [], []
    for name in settings.names():
        value = other_value(name, settings.explain(name).value)
        # Functions neither run nor are compiled under these, and one is of no use on a CPU.
        if value is None or name.endswith(("no_execution", "no_tracing", "sharding_in_types")):
            continue
        function = jax.jit(lambda x: x + 1)
        function(argument)
        count = function._cache_size()
        try:
            with settings.override({name: value}):
                function(argument)
        except SettingValueError:
            # Read by the backends that have started.
            continue
        tried.append(name)
        if function._cache_size() > count:
            compiled.append(name)
    guarded = [name for name in tried if settings.explain(name).guards == ("jax.jit",)]
    return [compiled, guarded]
