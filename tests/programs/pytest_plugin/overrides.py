import threading

import pytest
from interlock import settings

config = {"level": 1, "nan": float("nan")}


def write(new):
    config["level"] = new


settings.register(
    settings.Setting("mylib.level", get=lambda: config["level"], set=write),
    settings.Setting("mylib.nan", get=lambda: config["nan"] * 1),
)
kept = []


def test_override():
    settings.override({"mylib.level": 2}).__enter__()


def test_pin():
    settings.pin({"mylib.level": 3})


def test_thread_that_ended():
    thread = threading.Thread(target=settings.override({"mylib.level": 4}).__enter__)
    thread.start()
    thread.join()


@pytest.fixture(scope="module")
def pinned():
    with settings.pin({"mylib.level": 5}):
        yield


def test_wider_pin(pinned):
    assert config["level"] == 5


def test_wider_pin_again(pinned):
    assert config["level"] == 5


def test_write():
    config["level"] = 6
