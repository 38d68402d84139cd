"""Settings of thread pools in processes with other libraries."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from interlock import settings


def of_pools():
    return [name for name in settings.names() if name.endswith("num_threads")]


def load_later(path):
    settings.enable("openmp")
    import threadpoolctl

    before = of_pools()
    ctypes.CDLL(path)
    threadpoolctl.reset_cached_controller()
    with threadpoolctl.threadpool_limits(2):
        pass
    name = "openmp.libgomp.num_threads"
    write = settings.writes([name])[0]
    return {
        "before": before,
        "after": of_pools(),
        "extent": settings.explain(name).extent,
        "first": [write.old, write.new],
    }


def functions_while_enabled():
    import numpy
    import threadpoolctl

    before = threadpoolctl.OpenBLASController.set_num_threads
    with settings.enable("openblas"):
        enabled = threadpoolctl.OpenBLASController.set_num_threads is before
    return {
        "enabled": enabled,
        "disabled": threadpoolctl.OpenBLASController.set_num_threads is before,
        "known": "openblas.numpy.num_threads" in settings.names(),
    }


def controllers_made(path):
    import numpy
    import threadpoolctl
    from interlock import threads

    made = []

    class Controller(threadpoolctl.ThreadpoolController):
        def __init__(self):
            made.append(self)
            super().__init__()

    threadpoolctl.ThreadpoolController = Controller
    settings.enable("openblas", "mkl", "openmp")
    for _ in range(5):
        settings.explain("openblas.numpy.num_threads")
        with threads.limits(1, pools=["openblas"]):
            pass
    found = {"uses": len(made)}
    # A module of Python that loads no library.
    import colorsys

    settings.names()
    found["import"] = len(made)
    ctypes.CDLL(path)
    assert "openmp.libgomp.num_threads" in settings.names()
    return found | {"load": len(made)}


def write_of_interlock(path):
    import interlock

    ctypes.CDLL(path)
    settings.enable("openmp", "interlock")
    interlock.set_num_threads(3)
    return [
        [write.setting, write.old, write.new, Path(write.file).name]
        for write in settings.writes()
        if write.setting.startswith("openmp.")
    ]


def wait_for_threadpoolctl():
    import numpy

    # The import of threadpoolctl sets it.
    os.environ.pop("KMP_DUPLICATE_LIB_OK", None)

    settings.enable()
    imported = "threadpoolctl" in sys.modules
    before = [name for name in of_pools() if name.startswith("openblas.")]
    variable = os.environ.get("KMP_DUPLICATE_LIB_OK")
    import threadpoolctl

    after = [name for name in of_pools() if name.startswith("openblas.")]
    return {"imported": imported, "before": before, "after": after, "variable": variable}


def watch(script):
    file = Path(tempfile.mkdtemp()) / "found.json"
    command = [sys.executable, "-P", "-m", "interlock", "watch", "--json", str(file), script]
    subprocess.run(command, check=True, capture_output=True, timeout=50)
    changes = json.loads(file.read_text())["changes"]
    return [[change["setting"], change["after"], change["file"], change["line"]] for change in changes]
