"""Tiny stand-ins for NVIDIA's driver library, built with the C compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = """
int cuInit(unsigned flags) { return %(init)d; }
int cuDriverGetVersion(int *version) { *version = %(version)d; return 0; }
int cuDeviceGetCount(int *count) { *count = %(count)d; return %(init)d ? 3 : 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < %(count)d ? 0 : 101; }
"""
COMPILER = shutil.which("cc")


def build(folder: Path, *, init: int = 0, version: int = 12_020, count: int = 2) -> dict[str, str]:
    """Build one that answers so, and return the environment in which a program finds it."""
    source, library = folder / "driver.c", folder / "libcuda.so.1"
    source.write_text(SOURCE % {"init": init, "version": version, "count": count})
    flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run([str(COMPILER), *flags, str(source)], check=True, capture_output=True, timeout=60)
    return {"LD_LIBRARY_PATH": str(folder)}
