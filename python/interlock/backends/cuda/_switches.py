"""The switches of scaled-dot-product attention, each as a function that writes and one that reads its flag.

Writing raises `FlagTypeError` for what is no bool and `FlagsFrozenError` while flags are frozen. It lands
where an assignment of the flag lands: in the innermost scope of this thread that decides it, else in the
process.
"""

from __future__ import annotations

from interlock._core import backends as _native


def enable_flash_sdp(enabled: bool) -> None:
    """Say whether attention may run on the flash kernel: the flag `cuda.flash_sdp`."""
    _native.assign({"cuda.flash_sdp": enabled})


def flash_sdp_enabled() -> bool:
    """Return whether attention may run on the flash kernel."""
    return bool(_native.read("cuda.flash_sdp"))


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Say whether attention may run on the memory-efficient kernel: the flag `cuda.mem_efficient_sdp`."""
    _native.assign({"cuda.mem_efficient_sdp": enabled})


def mem_efficient_sdp_enabled() -> bool:
    """Return whether attention may run on the memory-efficient kernel."""
    return bool(_native.read("cuda.mem_efficient_sdp"))


def enable_math_sdp(enabled: bool) -> None:
    """Say whether attention may run as plain matrix products: the flag `cuda.math_sdp`."""
    _native.assign({"cuda.math_sdp": enabled})


def math_sdp_enabled() -> bool:
    """Return whether attention may run as plain matrix products."""
    return bool(_native.read("cuda.math_sdp"))


def enable_cudnn_sdp(enabled: bool) -> None:
    """Say whether attention may run on cuDNN: the flag `cuda.cudnn_sdp`."""
    _native.assign({"cuda.cudnn_sdp": enabled})


def cudnn_sdp_enabled() -> bool:
    """Return whether attention may run on cuDNN."""
    return bool(_native.read("cuda.cudnn_sdp"))


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Say whether the plain products of attention may sum float16 and bfloat16 in these types.

    It is the flag `cuda.fp16_bf16_reduction_math_sdp`.
    """
    _native.assign({"cuda.fp16_bf16_reduction_math_sdp": enabled})


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return whether the plain products of attention may sum float16 and bfloat16 in these types."""
    return bool(_native.read("cuda.fp16_bf16_reduction_math_sdp"))
