"""Flags of operations on NVIDIA devices."""

from __future__ import annotations

import sys
from typing import Literal

from interlock._core import backends as _native

__all__ = ["matmul"]

# <flags of cuda>
flash_sdp: bool
mem_efficient_sdp: bool
math_sdp: bool
cudnn_sdp: bool
fp16_bf16_reduction_math_sdp: bool
sdp_priority: tuple[
    Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"], ...
]
linalg_library: Literal["default", "cusolver", "magma"]
blas_library: Literal["default", "cublas", "cublaslt", "ck"]
rocm_fa_library: Literal["default", "aotriton", "ck"]
cublas_workspace: int
cublaslt_workspace: int
# </flags of cuda>

matmul = _native.CudaMatmulFlags()

sys.modules[__name__].__class__ = _native.CudaModule
