"""What only hardware shows: where there is no GPU, each test is skipped with the driver's reason."""

from __future__ import annotations

import functools

import pytest
from interlock import accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import int32_buffers
from tests.hardware.gpu.slow_kernel import Kernels, Library
from tests.helpers.subprocess import eval_python


@functools.cache
def why_no_gpu() -> str | None:
    """Return why there is none, asked in a process of its own: this one may use another driver."""
    why: str | None = eval_python("""
        from interlock import accelerator
        accelerator.use("cuda")
        result = accelerator.unavailable_reason()
    """)
    return why


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none, or where the tests use another driver.

    With `--driver=cuda` everything is skipped where there is none.
    """
    if item.get_closest_marker("gpu") is None:
        return
    if item.config.getoption("--driver") != "cuda":
        pytest.skip(why_no_gpu() or "uses NVIDIA's driver: make test-gpu, or --driver=cuda")


@pytest.fixture(scope="session")
def library(driver: str) -> Library:
    """NVIDIA's driver library, called beside interlock."""
    accelerator.synchronize()
    return Library()


@pytest.fixture(scope="session")
def kernels(library: Library) -> Kernels:
    """Kernels of our own on the first device."""
    return Kernels(library)


@pytest.fixture
def cell(devices: tuple[str, ...]) -> Buffer:
    """Room for one number of 32 bits on the first device, which is 0."""
    buffer = Buffer(int32_buffers.BYTES, devices[0]).fill_(0)
    accelerator.synchronize(devices[0])
    # The first copy may make what later ones use, and wait for the device.
    assert int32_buffers.read(buffer) == 0
    return buffer
