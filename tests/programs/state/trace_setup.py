"""Shared setup of traced programs. Tests find lines by their trailing comments."""

import asyncio
import contextlib
import json
import sys
import threading
import warnings

import interlock
from interlock import aio, backends, enable_grad, no_grad

caught = warnings.catch_warnings(record=True)
found = caught.__enter__()
warnings.simplefilter("always")


def on_a_thread(action):
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def here(code, mode="exec"):
    """Return code that is compiled with the line number of the caller."""
    caller = sys._getframe(1)
    return compile("\n" * (caller.f_lineno - 1) + code, caller.f_code.co_filename, mode)


def print_warnings():
    caught.__exit__()
    shown = [(each.category.__name__, str(each.message), f"{each.filename}:{each.lineno}") for each in found]
    print("\n" + json.dumps(shown))
