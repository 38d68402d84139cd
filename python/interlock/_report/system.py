"""What interlock runs on: versions, the system and the processor."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from dataclasses import dataclass

import interlock
from interlock import _core, backends


@dataclass(frozen=True)
class Versions:
    """Which interlock, and what it runs on."""

    interlock: str
    extension: str | None
    """The file of the extension module; None where a program that embeds Python brings it."""
    python: str
    executable: str
    abi: str | None
    platform: str
    libc: str | None


@dataclass(frozen=True)
class Processor:
    """The processor, and how much of it this process may use."""

    model: str | None
    cores: int
    allowed_cores: int
    capability: str


def versions() -> Versions:
    """Return which interlock this is, and what it runs on."""
    libc = " ".join(platform.libc_ver()).strip()
    return Versions(
        interlock=interlock.__version__,
        extension=getattr(_core, "__file__", None),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        executable=sys.executable,
        abi=sysconfig.get_config_var("SOABI"),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        libc=libc or None,
    )


def processor() -> Processor:
    """Return what the processor is, and how much of it this process may use."""
    cores = os.cpu_count() or 1
    # macOS has no such question.
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else cores
    return Processor(_model(), cores, allowed, backends.cpu.get_cpu_capability())


def _model() -> str | None:
    """Return the name of the processor, where the system tells it."""
    if sys.platform != "linux":
        return platform.processor() or None
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as told:
            names = [line.partition(":")[2].strip() for line in told if line.startswith("model name")]
    except OSError:
        return None
    return names[0] if names else None
