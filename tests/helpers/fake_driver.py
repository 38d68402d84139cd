"""Minimal fakes of NVIDIA's driver library and of NVML, built with the C compiler.

The driver only initializes and counts. Like the real one, it fails in a child that was forked
after its initialization.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from tests.helpers import cargo, fake_libraries
from tests.helpers.fake_libraries import COMPILER as COMPILER, NEEDS_COMPILER as NEEDS_COMPILER

ROOT = Path(__file__).parents[2]
DRIVER = "libcuda.so.1"
NVML = "libnvidia-ml.so.1"
SOURCE = {
    "cuInit": """
        int cuInit(unsigned flags) {
            starts++;
            if (starter != 0 && starter != getpid()) return 3;
            if (%(init)d == 0) starter = getpid();
            return %(init)d;
        }
    """,
    "cuDriverGetVersion": """
        int cuDriverGetVersion(int *version) { *version = %(version)d; return %(version_status)d; }
    """,
    "cuDeviceGetCount": """
        int cuDeviceGetCount(int *count) { *count = %(count)d; return starter == getpid() ? 0 : 3; }
    """,
    "cuDeviceGet": """
        int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < %(count)d ? 0 : 101; }
    """,
}
HEAD = """
    #include <unistd.h>
    static int starts;
    static pid_t starter;
    int fake_starts(void) { return starts; }
"""
OTHER = "int %s(void) { return 801; }"


def build(
    folder: Path,
    *,
    name: str = DRIVER,
    init: int = 0,
    version: int = 12_020,
    version_status: int = 0,
    count: int = 2,
    lacks: Collection[str] = (),
    nvml: bool = False,
) -> dict[str, str]:
    """Build a driver, and return the environment in which a program finds it.

    `init` and `version_status` are the results of `cuInit` and `cuDriverGetVersion`. Without `nvml` there is
    no NVML, even if the system has one.
    """
    others = [OTHER % function for function in _called() if function not in SOURCE]
    functions = [text for function, text in SOURCE.items() if function not in lacks]
    source = "\n".join([HEAD, *functions, *others])
    values = {"init": init, "version": version, "version_status": version_status, "count": count}
    fake_libraries.build(folder, name, source % values)
    if nvml:
        shutil.copy(cargo.built("fake_nvml"), folder / NVML)
    elif name == DRIVER:
        fake_libraries.build(folder, NVML, "int nvmlInit_v2(void) { return 0; }")
    return {"LD_LIBRARY_PATH": str(folder)}


def _called() -> list[str]:
    """Return the functions that the driver library must have."""
    path = ROOT / "rust/cuda/src/sys/api.rs"
    text = path.read_text() if path.exists() else ""
    return re.findall(r"^ +(cu[A-Z]\w*)$", text, re.MULTILINE)
