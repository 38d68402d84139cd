"""Fakes of NVIDIA's libraries, built with cargo: `--driver=fake-cuda` runs the tests on them."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 600  # They may have to be compiled first.

NAMES = {"fake_cuda": ("libcuda.so", "libcuda.so.1"), "fake_nvml": ("libnvidia-ml.so.1",)}
# The values of the host driver in the tests.
SETTINGS = {"FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_MEMORY": str(64 << 20)}


@functools.cache
def library(package: str) -> Path:
    """Return the library of a package, built if necessary."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("the fakes of NVIDIA's libraries are built with cargo, which is not installed")
    manifest = str(ROOT / "Cargo.toml")
    command = [cargo, "build", "--quiet", "--manifest-path", manifest, "--package", package]
    # A sanitizer that is preloaded into Python (`make test-sanitized`) can block cargo.
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    built = subprocess.run(
        [*command, "--message-format=json"],
        env=variables,
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    files = [
        Path(file)
        for message in messages
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == package
        for file in message["filenames"]
    ]
    (found,) = [file for file in files if file.suffix == ".so"]
    return found


def environment() -> dict[str, str]:
    """Build the fakes, and return the environment in which a program finds them."""
    folder = library("fake_cuda").parent / "fake_cuda_libraries"
    folder.mkdir(exist_ok=True)
    for package, names in NAMES.items():
        for name in names:
            # Replaced atomically: other workers do this, too, while programs load the library.
            new = folder / f"{name}.{os.getpid()}"
            new.unlink(missing_ok=True)
            new.symlink_to(library(package))
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
