import os
import threading

from interlock import settings

config = {"level": 1}
settings.register(
    settings.Setting("mine.level", get=lambda: config["level"], set=lambda value: config.update(level=value))
)
settings.enable("environ")
entered, end = threading.Event(), threading.Event()


def hold():
    with settings.override({"mine.level": 3, "environ.OMP_NUM_THREADS": "3"}):
        entered.set()
        end.wait(20)


thread = threading.Thread(target=hold)


def test_start():
    thread.start()
    entered.wait(20)


def test_held():
    assert (config["level"], os.environ["OMP_NUM_THREADS"]) == (3, "3")


def test_end():
    end.set()
    thread.join()
    assert (config["level"], os.environ.get("OMP_NUM_THREADS")) == (1, None)
