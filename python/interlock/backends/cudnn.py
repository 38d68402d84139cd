"""Flags of cuDNN, NVIDIA's library of convolutions, recurrent layers and normalizations."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal

from interlock._core import backends as _native
from interlock._features import HAS_TENSORS as _HAS_TENSORS
from interlock.backends._module import (
    UNCHANGED,
    _FP32Precision as _FP32Precision,
    set_flags as _set_flags,
)

if TYPE_CHECKING or _HAS_TENSORS:
    from interlock._core.tensor import (
        Tensor as _Tensor,
        float16 as _float16,
        float32 as _float32,
        float64 as _float64,
    )

if TYPE_CHECKING:
    from interlock._core.tensor import dtype

__all__ = [
    "CUDNN_TENSOR_DTYPES",
    "CudnnModule",
    "conv",
    "flags",
    "is_acceptable",
    "is_available",
    "rnn",
    "set_flags",
    "version",
]

# <flags of cudnn>
enabled: bool
benchmark: bool
benchmark_limit: int
deterministic: bool
depthwise_kernel: Literal["auto", "cudnn", "native"]
fp32_precision: Literal["none", "ieee", "tf32"]
allow_tf32: bool
# </flags of cudnn>

conv = _native.CudnnConvFlags()
rnn = _native.CudnnRnnFlags()

#: The dtypes that both cuDNN and the tensors of interlock support.
CUDNN_TENSOR_DTYPES: set[dtype] = {_float64, _float32, _float16} if _HAS_TENSORS else set()

# In the order of the arguments of `flags` and `set_flags`.
_ARGUMENTS = (
    "cudnn.enabled",
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
    "cudnn.deterministic",
    "cudnn.allow_tf32",
    "cudnn.fp32_precision",
    "cudnn.depthwise_kernel",
)
_scope = _native.FlagArguments(*_ARGUMENTS).scope


def flags(
    enabled: bool | None = False,
    benchmark: bool | None = False,
    benchmark_limit: int | None = 10,
    deterministic: bool | None = False,
    allow_tf32: bool | None = True,
    fp32_precision: Literal["none", "ieee", "tf32"] | None = "none",
    depthwise_kernel: Literal["auto", "cudnn", "native"] | None = "auto",
) -> _native.FlagScope:
    """Context manager and decorator that sets all flags of this module in the current context.

    A flag whose argument is not given is set to the default of this function, which for `enabled` is False,
    as in PyTorch. A flag whose argument is None is not set. `backends.override` sets only the given flags.

    Args:
        enabled: Whether operations may run on cuDNN.
        benchmark: Whether cuDNN benchmarks several algorithms and uses the fastest.
        benchmark_limit: The maximum number of algorithms that are benchmarked; 0 means all.
        deterministic: Whether cuDNN is restricted to deterministic algorithms.
        allow_tf32: Whether convolutions and recurrent layers may use tf32.
        fp32_precision: "none" (not set), "ieee" or "tf32".
        depthwise_kernel: The kernel of depthwise convolutions, "auto", "cudnn" or "native".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.

    """
    return _scope(
        enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision, depthwise_kernel
    )


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: Literal["none", "ieee", "tf32"] | None = UNCHANGED,
    _depthwise_kernel: Literal["auto", "cudnn", "native"] | None = None,
) -> tuple[Any, ...]:
    """Assign the flags whose arguments are not None together, and return the previous values of all seven.

    Without an argument a flag is not changed. If an error is raised, no flag is changed.

    Args:
        _enabled: Whether operations may run on cuDNN.
        _benchmark: Whether cuDNN benchmarks several algorithms and uses the fastest.
        _benchmark_limit: The maximum number of algorithms that are benchmarked; 0 means all.
        _deterministic: Whether cuDNN is restricted to deterministic algorithms.
        _allow_tf32: Whether convolutions and recurrent layers may use tf32.
        _fp32_precision: "none" (not set), "ieee" or "tf32".
        _depthwise_kernel: The kernel of depthwise convolutions, "auto", "cudnn" or "native".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.
        FlagsFrozenError: Flags are frozen.

    """
    return _set_flags(
        _ARGUMENTS,
        _enabled,
        _benchmark,
        _benchmark_limit,
        _deterministic,
        _allow_tf32,
        _fp32_precision,
        _depthwise_kernel,
    )


def is_available() -> bool:
    """Return whether cuDNN is loaded or can be found. Does not load it.

    Raises:
        LibraryPathError: `INTERLOCK_CUDNN_PATH` is set and is not the path of the library.

    """
    return _native.library_is_available("cudnn")


def version() -> int | None:
    """Return the version number of cuDNN, such as 92800, or None if cuDNN cannot be loaded. Loads cuDNN."""
    return _native.library_version("cudnn")


def is_acceptable(tensor: _Tensor) -> bool:
    """Return whether operations on a tensor can run on cuDNN.

    This requires that cuDNN is enabled in the current context and can be loaded, and that the tensor is on
    cuda and has one of `CUDNN_TENSOR_DTYPES`. If only the library is missing, a UserWarning is issued.

    Args:
        tensor: The tensor.

    """
    if not _native.read("cudnn.enabled"):
        return False
    if tensor.device.type != "cuda" or tensor.dtype not in CUDNN_TENSOR_DTYPES:
        return False
    if version() is None:
        reason = "was found but cannot be loaded" if is_available() else "was not found"
        warnings.warn(f"is_acceptable: cuDNN supports the tensor, but {reason}", stacklevel=2)
        return False
    return True


CudnnModule = _native.CudnnModule
sys.modules[__name__].__class__ = CudnnModule
