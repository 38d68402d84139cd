"""Forks while another thread is anywhere in the enter or exit of a scope."""

import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path

from interlock import settings
from interlock.settings import _scopes

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.helpers.signal_checks import AtCheck, numbers_of_checks

BEFORE = {"level": 0, "fast": False, "mode": "slow"}
config = dict(BEFORE)


def set_fast(value):
    config["fast"] = value
    config["mode"] = "quick" if value else "slow"


def set_mode(value):
    config["mode"] = value
    config["fast"] = value != "slow"


def register():
    settings.register(
        settings.Setting(
            "mylib.level", get=lambda: config["level"], set=lambda value: config.update(level=value)
        ),
        settings.Setting("mylib.fast", get=lambda: config["fast"], set=set_fast, family="speed"),
        settings.Setting("mylib.mode", get=lambda: config["mode"], set=set_mode, family="speed"),
    )


def check():
    """Return what is wrong in a child, which has no other thread."""
    held = [name for name in ("mylib.level", "mylib.fast") if settings.explain(name).held_by]
    if held or config != BEFORE:
        return f"held: {held}, {config}"
    with settings.override({"mylib.level": 7, "mylib.mode": "quick"}):
        if config != {"level": 7, "fast": True, "mode": "quick"}:
            return f"inside: {config}"
    return "" if config == BEFORE else f"after: {config}"


def run_child():
    signal.alarm(20)
    try:
        wrong = check()
    except BaseException:
        wrong = traceback.format_exc()
    if wrong:
        os.write(2, f"{wrong}\n".encode())
    os._exit(bool(wrong))


def fork_at_any_check_of_a_scope_of_another_thread(full):
    """Return the places at which a child lacked something, the number of places, and the parent's values."""
    warnings.simplefilter("ignore", DeprecationWarning)
    register()
    wrong = []
    for number in numbers_of_checks(full=full):
        reached, go_on = threading.Event(), threading.Event()

        def wait(reached=reached, go_on=go_on):
            reached.set()
            go_on.wait(60)

        at = AtCheck(number, wait, (__file__,))

        def hold(at=at, reached=reached):
            with at, settings.override({"mylib.level": 1, "mylib.fast": True}):
                pass
            reached.set()

        thread = threading.Thread(target=hold)
        thread.start()
        reached.wait(60)
        if at.is_called:
            child = os.fork()
            if child == 0:
                run_child()
            if os.waitpid(child, 0)[1]:
                wrong.append(number)
            go_on.set()
        thread.join()
        if not at.is_called:
            return [wrong, number, config == BEFORE, len(_scopes.open_scopes())]


def fork_inside_a_setter():
    """Return what a child has that was forked by the setter of a scope, in the scope and afterwards."""
    warnings.simplefilter("ignore", DeprecationWarning)
    register()
    children = []

    def set_pool(value):
        if value == 1:
            children.append(os.fork())
        config["pool"] = value

    config["pool"] = 0
    settings.register(settings.Setting("mylib.pool", get=lambda: config["pool"], set=set_pool))
    reading, writing = os.pipe()
    with settings.override({"mylib.pool": 1}):
        inside = config["pool"]
    if children == [0]:
        found = []

        def hold():
            with settings.override({"mylib.pool": 5}):
                found.append(config["pool"])

        thread = threading.Thread(target=hold)
        thread.start()
        thread.join(20)
        os.write(writing, str([inside, *found, config["pool"]]).encode())
        os._exit(0)
    os.waitpid(children[0], 0)
    return [inside, config["pool"], os.read(reading, 100).decode()]
