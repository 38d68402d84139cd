import threading

import pytest
from interlock import settings

config = {"level": 1}


def write(new):
    config["level"] = new


settings.register(
    settings.Setting("mylib.level", get=lambda: config["level"], set=write),
    settings.Setting("mylib.other", get=lambda: 1, set=print),
)
entered, end = threading.Event(), threading.Event()


def hold():
    with settings.override({"mylib.other": 1}):
        entered.set()
        end.wait(20)


thread = threading.Thread(target=hold)


def test_start():
    thread.start()
    entered.wait(20)


def test_held():
    assert settings.explain("mylib.other").held_by
    end.set()
    thread.join()
    assert not settings.explain("mylib.other").held_by
