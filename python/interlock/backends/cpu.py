"""The instruction set that kernels may use on this CPU."""

from __future__ import annotations

import sys

from interlock._core import backends as _native
from interlock._core.backends import get_cpu_capability

__all__ = ["get_cpu_capability"]

sys.modules[__name__].__class__ = _native.CpuModule
