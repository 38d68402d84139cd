"""Fakes of NVIDIA's libraries, built with cargo: `--driver=fake-cuda` runs the tests on them."""

from __future__ import annotations

import os
import sys

import pytest

from tests.helpers import cargo

NAMES = {"fake_cuda": ("libcuda.so", "libcuda.so.1"), "fake_nvml": ("libnvidia-ml.so.1",)}
# The values of the host driver in the tests.
SETTINGS = {"FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_MEMORY": str(64 << 20)}


def environment() -> dict[str, str]:
    """Build the fakes, and return the environment in which a program finds them."""
    folder = cargo.built("fake_cuda").parent / "fake_cuda_libraries"
    folder.mkdir(exist_ok=True)
    for package, names in NAMES.items():
        for name in names:
            # Replaced atomically: other workers do this, too, while programs load the library.
            new = folder / f"{name}.{os.getpid()}"
            new.unlink(missing_ok=True)
            new.symlink_to(cargo.built(package))
            new.replace(folder / name)
    searched = [str(folder), os.environ.get("LD_LIBRARY_PATH", "")]
    return SETTINGS | {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, searched))}


def is_active() -> bool:
    """Return whether this process was started with the fakes."""
    return all(os.environ.get(name) == value for name, value in SETTINGS.items())


def restart_with_fakes(config: pytest.Config) -> None:
    """Restart pytest with the fakes: the loader reads its search path only at the start of a process."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | environment())
