"""Counts of loaded libraries beside threads that load libraries, and beside forks."""

import _ctypes
import ctypes
import os
import signal
import sysconfig
import threading
import warnings
from pathlib import Path

from interlock.integrations._loads import number_of_loads


def count_on_threads():
    def count():
        while True:
            number_of_loads()

    for _ in range(2):
        threading.Thread(target=count, daemon=True).start()


def modules():
    """Return extension modules of the standard library that nothing has loaded."""
    folder = Path(sysconfig.get_config_var("DESTSHARED") or "absent")
    return [str(path) for path in sorted(folder.glob("_test*.so"))]


def load_libraries_while_threads_count_them():
    """Return whether a library was loaded, and whether the count has changed by that."""
    files, before = modules(), number_of_loads()
    count_on_threads()
    for _ in range(100):
        for file in files:
            # Unlike `CDLL`, it holds the GIL while it loads, like an import.
            _ctypes.dlclose(ctypes.PyDLL(file)._handle)
    return [bool(files), number_of_loads() != before]


def fork_while_threads_count_libraries():
    """Return how many children could not count libraries."""
    warnings.simplefilter("ignore", DeprecationWarning)
    count_on_threads()
    hung = 0
    for _ in range(60):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            number_of_loads()
            os._exit(0)
        hung += os.waitpid(child, 0)[1] != 0
        if hung > 1:
            break
    return hung
