"""Overrides and writes of the settings of NumPy."""

import asyncio
import contextvars
import json
import os
import sys
import threading
import warnings

from interlock import settings
from interlock.errors import SettingValueError

OTHERS = {
    True: False,
    False: True,
    "warn": "raise",
    "ignore": "raise",
    "-": "+",
    "maxprec": "unique",
    "nan": "NaN",
    "inf": "Inf",
    "weak": "legacy",
    "legacy": "weak",
    "numpy.printoptions.legacy": "1.13",
    "numpy.bufsize": 4096,
}


def visible(name, value):
    """Return whether another thread and another context see a value, which this one has set."""
    elsewhere = []

    def look():
        elsewhere.append(settings.explain(name).value == value)

    thread = threading.Thread(target=contextvars.Context().run, args=(look,))
    thread.start()
    thread.join()
    contextvars.Context().run(look)
    return elsewhere


def override_every_setting():
    settings.enable("numpy")
    before_import = [settings.names(), "numpy" in sys.modules]
    import numpy

    names = settings.names()
    first = settings.snapshot()
    json.dumps(first)
    extents, defaults, read_only, unset, left, seen = {}, [], [], [], [], {}
    for name in names:
        found = settings.explain(name)
        extents[name] = str(found.extent)
        if found.value != found.default and found.default is not None:
            defaults.append(name)
        other = OTHERS.get(name, found.value + 1 if type(found.value) is int else OTHERS.get(found.value))
        try:
            with settings.override({name: other}):
                if settings.explain(name).value != other:
                    unset.append(name)
                seen[name] = visible(name, other)
        except SettingValueError as error:
            assert "is read-only" in str(error), error
            read_only.append(name)
        left += [f"{name}: {each}" for each in settings.diff(first)]
    settings.disable("numpy")
    functions = (numpy.seterr, numpy.seterrcall, numpy.setbufsize, numpy.set_printoptions)
    return {
        "version": numpy.__version__,
        "before_import": before_import,
        "extents": extents,
        "defaults": defaults,
        "read_only": read_only,
        "unset": unset,
        "left": left,
        "visible": seen,
        "wrapped": any(hasattr(function, "__wrapped__") for function in functions),
    }


def find_who_writes():
    settings.enable("numpy")
    import numpy

    numpy.seterr(all="raise", under="ignore"), numpy.seterr(all="raise", under="ignore")
    numpy.set_printoptions(precision=3, formatter={"float": str})
    numpy.setbufsize(4096)
    # Another package may have imported it from there.
    numeric = sys.modules.get("numpy._core.numeric") or sys.modules["numpy.core.numeric"]
    numeric.seterr(over="warn")
    with numpy.errstate(divide="call", call=visible), settings.override({"numpy.printoptions.precision": 5}):
        call, formatter = (
            settings.explain(name).value for name in ("numpy.errstate.call", "numpy.printoptions.formatter")
        )
        printed = str(numpy.array([0.123456789]))
    return {
        "writes": [
            [each.setting, each.old, each.new, each.function, os.path.basename(each.file)]
            for each in settings.writes()
            if each.function == "find_who_writes" and each.setting != "numpy.printoptions.precision"
        ],
        "call": call,
        "formatter": formatter,
        "printed": printed,
    }


def override_in_tasks():
    settings.enable("numpy")
    import numpy

    async def divide(value):
        with settings.override({"numpy.errstate.divide": value}):
            await asyncio.sleep(0.001)
            return numpy.geterr()["divide"] == value

    async def tasks():
        return await asyncio.gather(*(divide(value) for value in ("raise", "ignore", "print") * 3))

    return [asyncio.run(tasks()), numpy.geterr()["divide"]]


def refuse_values():
    settings.enable("numpy")
    import numpy

    before, errors = settings.snapshot(), []
    for values in (
        {"numpy.errstate.over": "explode"},
        {"numpy.bufsize": 3},
        {"numpy.printoptions.legacy": "9.9"},
        {"numpy.printoptions.precision": True},
        {"numpy.errstate.call": "f"},
    ):
        try:
            with settings.override(values):
                errors.append("accepted")
        except SettingValueError as error:
            errors.append(str(error))
    return [errors, settings.diff(before), numpy.get_printoptions()["legacy"]]


def put_back_what_numpy_had():
    """Return what differs after values that only NumPy accepts were read, changed, and put back."""
    settings.enable("numpy")
    import numpy

    plain, found = settings.snapshot(), {}
    numpy.set_printoptions(threshold=numpy.inf, linewidth=100.5, formatter={"float": hex})
    numpy.seterrcall(visible)
    unusual = settings.snapshot()
    for name, snapshot in (("plain", plain), ("unusual", unusual), ("JSON", json.loads(json.dumps(plain)))):
        settings.restore(snapshot)
        found[name] = settings.diff(snapshot)
    settings.restore(unusual)
    found["formatter"] = numpy.get_printoptions()["formatter"] == {"float": hex}
    found["call"] = numpy.geterrcall() is visible
    with settings.override({"numpy.printoptions.threshold": float("inf")}):
        found["threshold"] = str(numpy.get_printoptions()["threshold"])
    return found


def restore_names_of_another_process():
    """Return the warning for a function that this process never had, and whether the rest is restored."""
    settings.enable("numpy")
    import numpy

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings.restore({"numpy.printoptions.formatter": "int", "numpy.printoptions.precision": 3})
    (warning,) = caught
    return [str(warning.message), os.path.basename(warning.filename), numpy.get_printoptions()["precision"]]


def unknown_version():
    """Return the settings that a version hides which NumPy does not know, and what is left after restores."""
    settings.enable("numpy")
    import numpy

    before = settings.snapshot()
    numpy.set_printoptions(legacy="1.26")
    hidden = sorted(before.keys() - settings.snapshot().keys())
    with settings.override({"numpy.printoptions.precision": 3}):
        pass
    unknown = settings.snapshot()
    changed = list(map(str, settings.diff(before)))
    settings.restore(before)
    left = settings.diff(before)
    settings.restore(unknown)
    return [hidden, changed, left, settings.diff(unknown)]
