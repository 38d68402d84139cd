"""What a process that was started with INTERLOCK_STATE has, and what it passes on."""

import json
import os
import subprocess
import sys
import threading
import warnings

from interlock import backends, settings
from interlock.integrations import Portable, portable, received


def flags_and_warnings():
    """Return the state that this process has, and the warnings of the import in another process."""
    state = received()
    return {
        "state": None if state is None else json.loads(state.to_json()),
        "flags": {entry.name: entry.value for entry in backends.snapshot() if entry.level == "process"},
        "reasons": {} if state is None else state.observe()["reasons"],
        "modules": sorted({"json", "ctypes", "threadpoolctl"} & sys.modules.keys()),
    }


def grandchild():
    """Return the unknown parts and flags that a child of this process has, through its environment."""
    code = "from interlock.integrations import portable; print(portable().to_json())"
    command = [sys.executable, "-W", "ignore", "-c", code]
    inherited = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    passed_on = portable().env()
    backends.cudnn.benchmark_limit = 4
    later = subprocess.run(
        command, env=os.environ | portable().env(), capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(inherited), json.loads(passed_on["INTERLOCK_STATE"]), json.loads(later)]


def watched_by_another_thread():
    """Return what another thread reads while it is waited for by the function that a write is reported to."""
    config, found = {"level": 1}, []
    settings.register(
        settings.Setting(
            "mylib.level", get=lambda: config["level"], set=lambda value: config.update(level=value)
        )
    )

    def explain(write):
        thread = threading.Thread(
            target=lambda: found.append(settings.explain(write.setting).value), daemon=True
        )
        thread.start()
        thread.join(5)

    with settings.watch(explain):
        Portable({"version": 1, "settings": {"mylib.level": 2}}).install()
    return found


def registered_later():
    """Return the value of a flag that is registered after its value has arrived."""
    before = portable().flags
    flag = backends.register("mylib.level", 1, doc="A level.")
    return [before, flag.value, flag.name in portable().flags]


def settings_of_a_library():
    """Return a pinned and a plain setting of a library that is imported after the state has arrived."""
    import torch

    torch.backends.cudnn.benchmark = True
    observed = received().observe()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.backends.cudnn.deterministic = False
    return {
        "values": observed["values"],
        "after": [torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic],
        "warned": [str(each.message) for each in caught],
        "passed on": [portable().settings, portable().pinned],
    }


def settings_replaced():
    """Return a pinned setting after states that pin another value, and none."""
    import torch

    found = []
    for values in ({"torch.backends.cudnn.benchmark": True}, {"torch.backends.cudnn.benchmark": False}, {}):
        parts = {"version": 1, "settings": values, "pinned": dict.fromkeys(values, "ignore")}
        Portable(parts).install()
        torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark
        found.append(torch.backends.cudnn.benchmark)
    return found


def frozen():
    """Return a flag of a frozen process after a state with another value, and the warnings."""
    backends.disable_global_flags()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Portable({"version": 1, "flags": {"cudnn.benchmark": True}}).install()
    return [backends.cudnn.benchmark, [each.category.__name__ for each in caught]]


def variable_set_after_the_import():
    """Return the value and reasons of a flag whose variable is set after the import, after two states."""
    os.environ["INTERLOCK_CUDNN_BENCHMARK_LIMIT"] = "9"
    found = []
    for value in (3, 4):
        state = Portable({"version": 1, "flags": {"cudnn.benchmark_limit": value}})
        state.install()
        found.append([backends.cudnn.benchmark_limit, state.observe()["reasons"]])
    return found
