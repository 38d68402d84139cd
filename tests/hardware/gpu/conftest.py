"""Fixtures of the tests that need a GPU; without one they are skipped with the driver's reason."""

from __future__ import annotations

import functools

import pytest
from interlock import accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import int32_buffers
from tests.hardware.gpu.slow_kernel import Kernels, Library
from tests.helpers.subprocess import eval_python


@functools.cache
def no_gpu_reason() -> str | None:
    """Return why no GPU is available, queried in a child process because this one may use another driver."""
    why: str | None = eval_python("""
        from interlock import accelerator
        accelerator.use("cuda")
        result = accelerator.unavailable_reason()
    """)
    return why


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` unless `--driver=cuda` is set.

    With `--driver=cuda` and without a GPU, all tests are skipped.
    """
    if item.get_closest_marker("gpu") is None:
        return
    if item.config.getoption("--driver") != "cuda":
        pytest.skip(no_gpu_reason() or "uses NVIDIA's driver: make test-gpu, or --driver=cuda")


@pytest.fixture(scope="session")
def library(driver: str) -> Library:
    """NVIDIA's driver library, called directly."""
    accelerator.synchronize()
    return Library()


@pytest.fixture(scope="session")
def kernels(library: Library) -> Kernels:
    """The test kernels on the first device."""
    return Kernels(library)


@pytest.fixture
def cell(devices: tuple[str, ...]) -> Buffer:
    """A buffer for one 32-bit integer on the first device, set to 0."""
    buffer = Buffer(int32_buffers.BYTES, devices[0]).fill_(0)
    accelerator.synchronize(devices[0])
    # The first copy may create resources for later ones and synchronize the device.
    assert int32_buffers.read(buffer) == 0
    return buffer
