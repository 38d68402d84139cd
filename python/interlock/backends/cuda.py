"""Flags of operations on NVIDIA devices."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["matmul"]

matmul = _native.CudaMatmulFlags()

sys.modules[__name__].__class__ = _native.CudaModule
