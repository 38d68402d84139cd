"""Fixtures of every test."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path

import interlock
import pytest
from interlock import accelerator

from tests.accelerator import fake_cuda, fake_driver
from tests.accelerator.latch import Latch
from tests.leaks import no_leak
from tests.worker import Worker

__all__ = ["no_leak", "restored", "workers"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--driver",
        default="host",
        help="the driver whose devices the tests use: host, cuda, fake-cuda (NVIDIA's on a stand-in), or a "
        "registered one",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--driver") == "fake-cuda" and not fake_cuda.is_in_reach():
        fake_cuda.start_again(config)


@pytest.fixture
def restored(no_leak: None) -> Iterator[None]:
    """Put the process's flags back after a test that assigns them."""
    before = interlock.backends.snapshot()
    yield
    interlock.backends.restore(before)


@pytest.fixture
def workers() -> Iterator[tuple[Worker, Worker]]:
    """Two threads that do what they are told, one step at a time."""
    pair = (Worker(), Worker())
    yield pair
    for worker in pair:
        worker.stop()


@pytest.fixture(scope="session")
def driver(request: pytest.FixtureRequest) -> str:
    """Put the driver of `--driver` in use, with two devices, and return its name."""
    name: str = request.config.getoption("--driver").removeprefix("fake-")
    accelerator.use(name, **({"devices": 2, "memory": 64 << 20} if name == "host" else {}))
    assert accelerator.device_count() == 2
    assert accelerator.current_device_index() == 0
    return name


@pytest.fixture
def devices(driver: str) -> Iterator[tuple[str, str]]:
    """The names of two devices, on which everything has been done when the test ends."""
    yield f"{driver}:0", f"{driver}:1"
    for index in range(2):
        accelerator.synchronize(index)


@pytest.fixture
def nothing_kept(devices: tuple[str, str]) -> Iterator[None]:
    """Nothing of the devices' memory is kept when the test begins, and nothing is in use when it ends."""
    _give_everything_back(devices)
    for device in devices:
        accelerator.reset_peak_memory_stats(device)
        accelerator.reset_accumulated_memory_stats(device)
    yield
    _give_everything_back(devices)


def _give_everything_back(devices: tuple[str, str]) -> None:
    gc.collect()
    for device in devices:
        accelerator.synchronize(device)
    accelerator.empty_cache()
    assert [accelerator.memory_reserved(device) for device in devices] == [0, 0]


@pytest.fixture
def latch(devices: tuple[str, str]) -> Iterator[Latch]:
    """A latch that is open when the test ends, however it ends."""
    latch = Latch()
    yield latch
    latch.open()


def a_driver_is_installed() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture
def no_driver(tmp_path: Path) -> dict[str, str]:
    """An environment in which no driver can be used."""
    if not a_driver_is_installed():
        return {"LD_LIBRARY_PATH": ""}
    return fake_driver.build(tmp_path, init=100)


@pytest.fixture
def own_state() -> Iterator[None]:
    """Let a test write what is current: that ends with the captured state in which it runs."""
    with interlock.capture().apply():
        yield
