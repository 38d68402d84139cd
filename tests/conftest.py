"""Fixtures shared by all tests."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import interlock
import pytest
from interlock import accelerator
from interlock._features import HAS_TENSORS, NO_TENSORS

from tests.helpers import fake_cuda, fake_driver, run_options, subprocess
from tests.helpers.gate import Gate
from tests.helpers.recorded import Recorded
from tests.helpers.thread_worker import Worker

# Bytes of memory of a host device in tests that fill it.
SMALL = 64 << 20


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--driver",
        default="host",
        help="the driver whose devices the tests use: host, cuda, fake-cuda (NVIDIA's with a fake library) "
        "or a registered one",
    )
    parser.addoption(
        "--devices",
        type=int,
        default=2,
        help="how many devices the host driver has; with one, tests that need two are skipped",
    )
    parser.addoption(
        "--full",
        action="store_true",
        help="run every combination of the tests marked `product` and every sequence of the state machines",
    )
    parser.addoption(
        "--other-build",
        action="store_true",
        help="leave out the tests of `make test` that are marked `any_build`",
    )
    parser.addoption(
        "--few-cases",
        action="store_true",
        help="run only the first and the last case of each parametrized test: for other features of a build",
    )
    parser.addoption(
        "--update-recorded",
        action="store_true",
        help="write the recorded texts that tests compare (the fixture `recorded`) instead of comparing them",
    )
    parser.addoption(
        "--vendor",
        action="store_true",
        help="the vendors' libraries are installed (make test-vendor), so none of their tests is skipped",
    )
    parser.addoption(
        "--torch",
        default="fake",
        metavar="PYTHON",
        help="an interpreter with PyTorch for the tests of its settings (make test-integrations)",
    )
    parser.addoption(
        "--jax",
        default="fake",
        metavar="PYTHON",
        help="an interpreter with JAX and NumPy for the tests of their settings (make test-integrations)",
    )
    parser.addoption(
        "--clusters",
        default="fake",
        metavar="PYTHON",
        help="an interpreter with Dask, Ray, joblib and Spark for tests of workers (make test-integrations)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that start processes, select from products, and skip all tests without a device."""
    for item in items:
        if isinstance(item, pytest.Function) and _starts_processes(item.module):
            item.add_marker("subprocess")
        if isinstance(item, pytest.Function) and _is_for_any_build(item):
            item.add_marker("any_build")
        if "driver" in getattr(item, "fixturenames", ()):
            item.add_marker("driver")
    kept = set(items) if config.getoption("--full") else representatives(items)
    if config.getoption("--other-build"):
        kept -= independent_of_the_build(items)
    if config.getoption("--few-cases"):
        kept &= first_and_last(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
    _skip_without_device(config, items)
    if HAS_TENSORS:
        for item in items:
            if item.get_closest_marker("light") is not None:
                item.add_marker(
                    pytest.mark.skip(reason="checks a build without tensors (make install-light)")
                )


def pytest_collection_finish() -> None:
    """Exclude the objects of the collected tests from garbage collections, which they would make slow."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport]:
    """Skip a module that imports what a build without the tensor runtime lacks."""
    report = yield
    if _needs_tensors(report):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, subprocess.NEEDS_TENSORS)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport]:
    """Skip a test that uses what a build without the tensor runtime lacks.

    tests/packaging/test_features.py checks which names such a build lacks.
    """
    report = yield
    if _needs_tensors(report) and item.get_closest_marker("light") is None:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, subprocess.NEEDS_TENSORS)
        # The frames of the exception own memory that the next tests expect to be free.
        sys.last_value = sys.last_traceback = None
    return report


def _needs_tensors(report: pytest.CollectReport | pytest.TestReport) -> bool:
    return not HAS_TENSORS and report.failed and NO_TENSORS in report.longreprtext


def _starts_processes(module: ModuleType) -> bool:
    return any(getattr(each, "__module__", None) == subprocess.__name__ for each in vars(module).values())


def _is_for_any_build(item: pytest.Function) -> bool:
    """Whether the package of a test has the mark `any_build`. pytest reads marks of modules only."""
    mark = getattr(sys.modules.get(item.module.__package__ or ""), "pytestmark", None)
    return mark is not None and mark.name == "any_build"


def first_and_last(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the first and the last case of each test, and every case of one that runs only here."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        is_light = item.get_closest_marker("light") is not None
        cases.setdefault(item.nodeid if is_light else item.nodeid.partition("[")[0], []).append(item)
    return {end for each in cases.values() for end in (each[0], each[-1])}


def representatives(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return all items except redundant ones of tests marked `product`.

    Every value of every parameter of these tests stays in at least one item.
    """
    kept: set[pytest.Item] = set()
    seen: set[tuple[str, str, str]] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("product") is None:
            kept.add(item)
            continue
        function = f"{item.path}::{item.originalname}"
        values = {(function, name, repr(value)) for name, value in item.callspec.params.items()}
        if not values <= seen:
            kept.add(item)
            seen |= values
    return kept


def independent_of_the_build(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the items that `make test` runs as they are and whose results any build would repeat."""
    return {
        item
        for item in representatives(items)
        if isinstance(item, pytest.Function)
        and item.get_closest_marker("any_build") is not None
        and item.get_closest_marker("slow") is None
        # These test more with `--full`.
        and "full" not in item.fixturenames
        and not hasattr(item.module, run_options.__name__.rpartition(".")[2])
    }


def _skip_without_device(config: pytest.Config, items: list[pytest.Item]) -> None:
    name = _driver_name(config)
    if name == "host":
        return
    accelerator.use(name)
    why = accelerator.unavailable_reason()
    if why is not None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=why))


def _driver_name(config: pytest.Config) -> str:
    name: str = config.getoption("--driver")
    return name.removeprefix("fake-")


def pytest_configure(config: pytest.Config) -> None:
    _receive_signals_in_child_processes()
    run_options.FULL = config.getoption("--full")
    gc.disable()  # Until the tests are collected.
    # Programs run in other folders.
    run_options.TORCH, run_options.JAX, run_options.CLUSTERS = (
        python if python == "fake" else os.path.abspath(python)
        for python in map(config.getoption, ("--torch", "--jax", "--clusters"))
    )
    if config.getoption("--driver") == "fake-cuda" and not fake_cuda.is_active():
        fake_cuda.restart_with_fakes(config)


def _receive_signals_in_child_processes() -> None:
    """Let child processes receive the signals that a shell ignores for a background job, and `nohup` for any.

    A child inherits that a signal is ignored, but not a handler.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether `--full` is set; otherwise some tests use only a part of many similar values."""
    return bool(request.config.getoption("--full"))


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Recorded:
    """A function that compares texts by name with a JSON file, or writes it (`--update-recorded`)."""

    def compare(file: Path, found: dict[str, str]) -> None:
        if request.config.getoption("--update-recorded"):
            file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        wanted = json.loads(file.read_text(encoding="utf-8"))
        for name in [name for name, text in found.items() if not HAS_TENSORS and NO_TENSORS in text]:
            del found[name], wanted[name]
        assert found == wanted

    return compare


@pytest.fixture
def restored() -> Iterator[None]:
    """Restore the process's flags after a test that assigns them."""
    before = interlock.backends.snapshot()
    yield
    interlock.backends.restore(before)


@pytest.fixture
def workers() -> Iterator[tuple[Worker, Worker]]:
    """Two threads that run the functions passed to them, one at a time."""
    pair = (Worker(), Worker())
    yield pair
    for worker in pair:
        worker.stop()


@pytest.fixture(scope="session")
def driver(request: pytest.FixtureRequest) -> str:
    """Select the driver of `--driver` and return its name."""
    name = _driver_name(request.config)
    count: int = request.config.getoption("--devices")
    accelerator.use(name, **({"devices": count, "memory": SMALL} if name == "host" else {}))
    assert accelerator.current_device_index() == 0
    return name


@pytest.fixture
def devices(driver: str) -> Iterator[tuple[str, ...]]:
    """The names of the devices, which are synchronized after the test.

    Memory that earlier tests have cached is released before: an allocation during a capture can't release it.
    """
    count = accelerator.device_count()
    accelerator.empty_cache()
    yield tuple(f"{driver}:{index}" for index in range(count))
    for index in range(count):
        accelerator.synchronize(index)


@pytest.fixture
def two_devices(devices: tuple[str, ...]) -> tuple[str, str]:
    """The names of the first two devices; skips the test if there is only one."""
    if len(devices) < 2:
        pytest.skip(f"needs two devices, {devices[0].partition(':')[0]} has {len(devices)}")
    return devices[0], devices[1]


@pytest.fixture
def host_accessible_memory(driver: str) -> None:
    """Skip the test if the CPU cannot access device memory directly."""
    if driver == "cuda":
        pytest.skip("the CPU cannot access the memory of cuda")


@pytest.fixture
def small_devices(devices: tuple[str, ...]) -> None:
    """Skip a test that fills a device if the device has more memory than those of the host driver here."""
    for device in devices:
        _, total = accelerator.get_memory_info(device)
        if total != SMALL:
            pytest.skip(f"fills a device of {SMALL >> 20} MiB, {device} has {total >> 20}")


@pytest.fixture
def empty_cache_around(devices: tuple[str, ...]) -> Iterator[None]:
    """Empty the allocator's cache before the test, and check after it that no memory is in use."""
    _release_everything(devices)
    for device in devices:
        accelerator.reset_peak_memory_stats(device)
        accelerator.reset_accumulated_memory_stats(device)
    yield
    _release_everything(devices)


def _release_everything(devices: tuple[str, ...]) -> None:
    gc.collect()
    for device in devices:
        accelerator.synchronize(device)
    accelerator.empty_cache()
    assert [accelerator.memory_reserved(device) for device in devices] == [0] * len(devices)


@pytest.fixture
def gate(devices: tuple[str, ...]) -> Iterator[Gate]:
    """A gate that is opened after the test, whether it passes or fails."""
    gate = Gate()
    yield gate
    gate.open()


def libcuda_is_installed() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture
def no_driver(tmp_path: Path) -> dict[str, str]:
    """An environment in which no driver can be used."""
    if not libcuda_is_installed():
        return {"LD_LIBRARY_PATH": ""}
    return fake_driver.build(tmp_path, init=100)


@pytest.fixture
def numpy() -> Any:
    """NumPy; the test is skipped if it is not installed."""
    return pytest.importorskip("numpy")


@pytest.fixture
def isolated_state() -> Iterator[None]:
    """Run the test in a captured state, so that its writes of current devices and streams are undone."""
    with interlock.capture().apply():
        yield
