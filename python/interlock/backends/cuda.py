"""Flags of operations on NVIDIA devices."""

from __future__ import annotations

from interlock._core import backends as _native

matmul = _native.CudaMatmulFlags()
