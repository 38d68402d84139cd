"""Scaled-dot-product attention (SDPA): flags and scopes that select its kernels.

The `enable_*` functions assign a flag: they change the innermost open scope that sets the flag,
else the process. They raise `FlagTypeError` if the value is not a bool and `FlagsFrozenError` while flags are
frozen.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

from interlock._arguments import as_bool
from interlock._core import backends as _native
from interlock._features import HAS_TENSORS, Tensor
from interlock.backends.cuda._blas import NumberedEnum
from interlock.errors import (
    AttentionKernelError,
    AttentionKernelWarning,
    FlagDeprecationWarning,
    FlagTypeError,
    FlagValueError,
)

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.dispatch import explain


class SDPBackend(NumberedEnum):
    """The kernels of scaled-dot-product attention, with PyTorch's numbers."""

    ERROR = -1
    """No kernel could be selected."""
    MATH = 0
    """Plain matrix products."""
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    """The memory-efficient kernel."""
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4
    """A kernel that another library has registered. No flag enables or disables it."""


_FLAGS = {
    SDPBackend.FLASH_ATTENTION: "cuda.flash_sdp",
    SDPBackend.EFFICIENT_ATTENTION: "cuda.mem_efficient_sdp",
    SDPBackend.MATH: "cuda.math_sdp",
    SDPBackend.CUDNN_ATTENTION: "cuda.cudnn_sdp",
}


def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> _native.FlagScope:
    """Context manager and decorator that restricts attention to the given kernels, for this thread.

    Sets the flags `cuda.flash_sdp`, `cuda.mem_efficient_sdp`, `cuda.math_sdp` and `cuda.cudnn_sdp`.

    Args:
        backends: A kernel or a list of kernels. An empty list disables all kernels.
        set_priority: Whether to also set `cuda.sdp_priority`: the given kernels come first, in their order,
            followed by the other kernels in the order that is active when the scope is created.

    Raises:
        AttentionKernelError: `backends` is neither a kernel nor a list of kernels. It is a TypeError,
            RuntimeError and AssertionError.
        FlagValueError: `backends` contains `SDPBackend.ERROR`.
        FlagTypeError: `set_priority` is not a bool.

    Example:
        >>> from interlock.backends import cuda
        >>> with cuda.sdpa_kernel(cuda.SDPBackend.MATH):
        ...     cuda.math_sdp_enabled(), cuda.flash_sdp_enabled()
        (True, False)
        >>> cuda.flash_sdp_enabled()
        True

    """
    kernels = _checked(backends)
    with_order = as_bool("sdpa_kernel: set_priority", set_priority, FlagTypeError)
    values: dict[str, object] = {name: kernel in kernels for kernel, name in _FLAGS.items()}
    if with_order:
        first = [kernel.name.lower() for kernel in kernels]
        active: tuple[str, ...] = _native.read("cuda.sdp_priority")
        values["cuda.sdp_priority"] = [*first, *(name for name in active if name not in first)]
    return _native.FlagScope(values)


def _checked(backends: object) -> list[SDPBackend]:
    """Return the kernels without duplicates, in their order."""
    given: list[object] = [backends] if isinstance(backends, SDPBackend) else _as_list(backends)
    kernels: list[SDPBackend] = []
    for kernel in given:
        if not isinstance(kernel, SDPBackend):
            raise _not_a_kernel(kernel)
        if kernel is SDPBackend.ERROR:
            kinds = ", ".join(str(each) for each in SDPBackend if each is not SDPBackend.ERROR)
            raise FlagValueError(f"sdpa_kernel: backends must be {kinds}, got {kernel}")
        if kernel not in kernels:
            kernels.append(kernel)
    return kernels


def _as_list(backends: object) -> list[object]:
    if not isinstance(backends, list):
        raise _not_a_kernel(backends)
    return cast("list[object]", backends)


def _not_a_kernel(given: object) -> AttentionKernelError:
    expected = "sdpa_kernel: backends must be an SDPBackend or a list of them"
    return AttentionKernelError(f"{expected}, got {type(given).__name__}")


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> _native.FlagScope:
    """Context manager and decorator that selects the kernels of attention, for this thread.

    Deprecated; issues a `FlagDeprecationWarning` (a FutureWarning). Use `sdpa_kernel`.

    Args:
        enable_flash: Whether attention may use the flash kernel.
        enable_math: Whether attention may use plain matrix products.
        enable_mem_efficient: Whether attention may use the memory-efficient kernel.
        enable_cudnn: Whether attention may use cuDNN.

    Raises:
        FlagTypeError: An argument is not a bool.

    """
    scope = _native.FlagScope(
        {
            "cuda.flash_sdp": enable_flash,
            "cuda.math_sdp": enable_math,
            "cuda.mem_efficient_sdp": enable_mem_efficient,
            "cuda.cudnn_sdp": enable_cudnn,
        }
    )
    message = "backends.cuda.sdp_kernel is deprecated; use backends.cuda.sdpa_kernel"
    warnings.warn(message, FlagDeprecationWarning, stacklevel=2)
    return scope


def enable_flash_sdp(enabled: bool) -> None:
    """Set whether attention may use the flash kernel: the flag `cuda.flash_sdp`.

    Args:
        enabled: Whether attention may use it.

    Raises:
        FlagTypeError: `enabled` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"cuda.flash_sdp": enabled})


def flash_sdp_enabled() -> bool:
    """Return whether attention may use the flash kernel."""
    return bool(_native.read("cuda.flash_sdp"))


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set whether attention may use the memory-efficient kernel: the flag `cuda.mem_efficient_sdp`.

    Args:
        enabled: Whether attention may use it.

    Raises:
        FlagTypeError: `enabled` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"cuda.mem_efficient_sdp": enabled})


def mem_efficient_sdp_enabled() -> bool:
    """Return whether attention may use the memory-efficient kernel."""
    return bool(_native.read("cuda.mem_efficient_sdp"))


def enable_math_sdp(enabled: bool) -> None:
    """Set whether attention may use plain matrix products: the flag `cuda.math_sdp`.

    Args:
        enabled: Whether attention may use it.

    Raises:
        FlagTypeError: `enabled` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"cuda.math_sdp": enabled})


def math_sdp_enabled() -> bool:
    """Return whether attention may use plain matrix products."""
    return bool(_native.read("cuda.math_sdp"))


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set whether attention may use cuDNN: the flag `cuda.cudnn_sdp`.

    Args:
        enabled: Whether attention may use it.

    Raises:
        FlagTypeError: `enabled` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"cuda.cudnn_sdp": enabled})


def cudnn_sdp_enabled() -> bool:
    """Return whether attention may use cuDNN."""
    return bool(_native.read("cuda.cudnn_sdp"))


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Set whether the math kernel of attention may accumulate float16 and bfloat16 in these dtypes.

    Assigns the flag `cuda.fp16_bf16_reduction_math_sdp`.

    Args:
        enabled: Whether it may accumulate in these dtypes.

    Raises:
        FlagTypeError: `enabled` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"cuda.fp16_bf16_reduction_math_sdp": enabled})


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return whether the math kernel of attention may accumulate float16 and bfloat16 in these dtypes."""
    return bool(_native.read("cuda.fp16_bf16_reduction_math_sdp"))


class SDPAParams:
    """The arguments of a call of scaled-dot-product attention, as read-only attributes.

    Args:
        query: The query tensor.
        key: The key tensor.
        value: The value tensor.
        attn_mask: The mask, or None.
        dropout: The dropout probability.
        is_causal: Whether a position attends only to itself and earlier positions.
        enable_gqa: Whether several query heads may share a key and value head.

    Raises:
        TypeError: An argument has the wrong type.

    """

    __slots__ = ("_attn_mask", "_dropout", "_enable_gqa", "_is_causal", "_key", "_query", "_value")

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None,
        dropout: float,
        is_causal: bool,
        enable_gqa: bool,
    ) -> None:
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            _check("SDPAParams", name, tensor, Tensor, "a Tensor")
        _check("SDPAParams", "attn_mask", attn_mask, (Tensor, type(None)), "a Tensor or None")
        # bool is a subclass of int, but not a probability.
        if isinstance(dropout, bool):
            raise _wrong_type("SDPAParams", "dropout", dropout, "a float")
        _check("SDPAParams", "dropout", dropout, (float, int), "a float")
        _check("SDPAParams", "is_causal", is_causal, bool, "a bool")
        _check("SDPAParams", "enable_gqa", enable_gqa, bool, "a bool")
        self._query, self._key, self._value, self._attn_mask = query, key, value, attn_mask
        self._dropout, self._is_causal, self._enable_gqa = float(dropout), is_causal, enable_gqa

    @property
    def query(self) -> Tensor:
        """The query tensor."""
        return self._query

    @property
    def key(self) -> Tensor:
        """The key tensor."""
        return self._key

    @property
    def value(self) -> Tensor:
        """The value tensor."""
        return self._value

    @property
    def attn_mask(self) -> Tensor | None:
        """The mask, which is added to the attention scores or selects some of them; None without a mask."""
        return self._attn_mask

    @property
    def dropout(self) -> float:
        """The dropout probability."""
        return self._dropout

    @property
    def is_causal(self) -> bool:
        """Whether a position attends only to itself and earlier positions."""
        return self._is_causal

    @property
    def enable_gqa(self) -> bool:
        """Whether several query heads may share a key and value head (grouped-query attention)."""
        return self._enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether the flash kernel can run a call on its device now. False on the CPU.

    `dispatch.explain` shows all kernels, also those of the CPU.

    Args:
        params: The arguments of attention.
        debug: Whether to issue an `AttentionKernelWarning` with the reason against the kernel.

    Raises:
        TypeError: An argument has the wrong type.

    """
    return _can_use("can_use_flash_attention", "flash", "cuda.flash_sdp", params, debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether the memory-efficient kernel can run a call on its device now. False on the CPU.

    Args:
        params: The arguments of attention.
        debug: Whether to issue an `AttentionKernelWarning` with the reason against the kernel.

    Raises:
        TypeError: An argument has the wrong type.

    """
    return _can_use("can_use_efficient_attention", "efficient", "cuda.mem_efficient_sdp", params, debug)


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether the kernel that models cuDNN can run a call on its device now. False on the CPU.

    Args:
        params: The arguments of attention.
        debug: Whether to issue an `AttentionKernelWarning` with the reason against the kernel.

    Raises:
        TypeError: An argument has the wrong type.

    """
    return _can_use("can_use_cudnn_attention", "cudnn", "cuda.cudnn_sdp", params, debug)


def is_flash_attention_available() -> bool:
    """Return False: the flash kernels of PyTorch are not part of interlock, whose own kernel models them."""
    return False


def is_ck_sdpa_available() -> bool:
    """Return False: interlock does not use Composable Kernel for attention."""
    return False


def _can_use(function: str, kernel: str, flag: str, params: SDPAParams, debug: bool) -> bool:
    _check(function, "params", params, SDPAParams, "an SDPAParams")
    _check(function, "debug", debug, bool, "a bool")
    reason = _refusal(kernel, flag, params)
    if reason is not None and debug:
        warnings.warn(f"{function}: {reason}", AttentionKernelWarning, stacklevel=3)
    return reason is None


def _refusal(kernel: str, flag: str, params: SDPAParams) -> str | None:
    """Return the reason why a kernel cannot run a call on a device, or None if it can."""
    if not _native.read(flag):
        return f"backends.{flag} is False"
    if params.query.device.type == "cpu":
        return "needs tensors on a device, got query on cpu"
    try:
        call = explain(
            "scaled_dot_product_attention",
            params.query,
            params.key,
            params.value,
            attn_mask=params.attn_mask,
            dropout_p=params.dropout,
            is_causal=params.is_causal,
            enable_gqa=params.enable_gqa,
        )
    except RuntimeError as error:
        # Arguments that fit no kernel.
        return str(error)
    reasons = {one.kernel: one.reason for one in call.considered}
    reason = reasons[kernel]
    return None if reason is None else str(reason)


def _check(function: str, name: str, value: object, types: type | tuple[type, ...], expected: str) -> None:
    if not isinstance(value, types):
        raise _wrong_type(function, name, value, expected)


def _wrong_type(function: str, name: str, value: object, expected: str) -> TypeError:
    return TypeError(f"{function}: {name} must be {expected}, got {type(value).__name__}")
