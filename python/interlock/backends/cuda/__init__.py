"""Flags of operations on NVIDIA devices, and PyTorch's functions that assign and read them.

A function with a value as argument assigns a flag of this module: it accepts the same values, raises the same
errors and affects the same level as the assignment. `backends.override` sets such a flag for one thread.
"""

from __future__ import annotations

import sys
from typing import Literal

from interlock._core import backends as _native
from interlock._homes import set_home
from interlock.backends.cuda._attention import (
    SDPAParams,
    SDPBackend,
    allow_fp16_bf16_reduction_math_sdp,
    can_use_cudnn_attention,
    can_use_efficient_attention,
    can_use_flash_attention,
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    fp16_bf16_reduction_math_sdp_allowed,
    is_ck_sdpa_available,
    is_flash_attention_available,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
    sdp_kernel,
    sdpa_kernel,
)
from interlock.backends.cuda._blas import (
    _BlasBackend as _BlasBackend,
    _LinalgBackend as _LinalgBackend,
    _ROCmFABackend as _ROCmFABackend,
    blas_workspace_size,
    cublas_workspace_size,
    cublaslt_workspace_size,
    preferred_blas_library,
    preferred_linalg_library,
    preferred_rocm_fa_library,
)
from interlock.backends.cuda._plan_cache import (
    cuFFTPlanCache,
    cuFFTPlanCacheAttrContextProp,
    cuFFTPlanCacheManager,
)

__all__ = [
    "SDPAParams",
    "SDPBackend",
    "allow_fp16_bf16_reduction_math_sdp",
    "blas_workspace_size",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cuFFTPlanCache",
    "cuFFTPlanCacheAttrContextProp",
    "cuFFTPlanCacheManager",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
    "sdpa_kernel",
]

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

set_home(
    __name__,
    SDPAParams,
    SDPBackend,
    _BlasBackend,
    _LinalgBackend,
    _ROCmFABackend,
    cuFFTPlanCache,
    cuFFTPlanCacheAttrContextProp,
    cuFFTPlanCacheManager,
)

cuBLASModule = _native.CudaMatmulFlags

matmul = cuBLASModule()
cufft_plan_cache = cuFFTPlanCacheManager()


def is_built() -> bool:
    """Return True: interlock always includes the driver for NVIDIA devices.

    `accelerator.is_available` returns whether a device is available.
    """
    return True


sys.modules[__name__].__class__ = _native.CudaModule
