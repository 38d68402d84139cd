"""Scaled-dot-product attention: the switches of its kernels, scopes that choose them, what could run.

Writing a switch raises `FlagTypeError` for what is no bool and `FlagsFrozenError` while flags are frozen. The
write has the effect of an assignment to the flag: it changes the innermost scope of this thread that decides
the flag, else the process.
"""

from __future__ import annotations

import warnings
from typing import cast

from interlock._core import backends as _native
from interlock._core.tensor import Tensor
from interlock.backends.cuda._blas import NumberedEnum
from interlock.errors import (
    AttentionKernelError,
    AttentionKernelWarning,
    FlagDeprecationWarning,
    FlagTypeError,
    FlagValueError,
)


class SDPBackend(NumberedEnum):
    """A kernel of scaled-dot-product attention, with PyTorch's numbers."""

    ERROR = -1
    """None of them: what stands where no kernel could be chosen."""
    MATH = 0
    """Plain matrix products."""
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    """The memory-efficient kernel."""
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4
    """What an extension brings for its own devices. No flag switches it."""


_FLAGS = {
    SDPBackend.FLASH_ATTENTION: "cuda.flash_sdp",
    SDPBackend.EFFICIENT_ATTENTION: "cuda.mem_efficient_sdp",
    SDPBackend.MATH: "cuda.math_sdp",
    SDPBackend.CUDNN_ATTENTION: "cuda.cudnn_sdp",
}


def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> _native.FlagScope:
    """Let attention run on these kernels and no others, for this thread: a context manager and a decorator.

    It decides the flags `cuda.flash_sdp`, `cuda.mem_efficient_sdp`, `cuda.math_sdp` and `cuda.cudnn_sdp`;
    an empty list turns all of them off. With `set_priority` it decides `cuda.sdp_priority`, too: the
    kernels that are given come first, in their order, and the others follow in the order that is in force
    when the scope is made. `SDPBackend.OVERRIDEABLE` has a place in that order and no flag.

    Raises `AttentionKernelError` (a TypeError, RuntimeError and AssertionError) for what is neither a
    kernel nor a list of kernels, `FlagValueError` for `SDPBackend.ERROR`, which is no kernel, and
    `FlagTypeError` where `set_priority` is no bool.

    >>> from interlock.backends import cuda
    >>> with cuda.sdpa_kernel(cuda.SDPBackend.MATH):
    ...     cuda.math_sdp_enabled(), cuda.flash_sdp_enabled()
    (True, False)
    >>> cuda.flash_sdp_enabled()
    True
    """
    kernels, with_order = _checked(backends), _bool(set_priority)
    decided: dict[str, object] = {name: kernel in kernels for kernel, name in _FLAGS.items()}
    if with_order:
        first = [kernel.name.lower() for kernel in kernels]
        in_force: tuple[str, ...] = _native.read("cuda.sdp_priority")
        decided["cuda.sdp_priority"] = [*first, *(name for name in in_force if name not in first)]
    return _native.FlagScope(decided)


def _checked(backends: object) -> list[SDPBackend]:
    """Return each kernel once, in the order given."""
    given: list[object] = [backends] if isinstance(backends, SDPBackend) else _as_list(backends)
    kernels: list[SDPBackend] = []
    for kernel in given:
        if not isinstance(kernel, SDPBackend):
            raise _not_a_kernel(kernel)
        if kernel is SDPBackend.ERROR:
            allowed = ", ".join(str(each) for each in SDPBackend if each is not SDPBackend.ERROR)
            raise FlagValueError(f"backends of sdpa_kernel takes {allowed}; {kernel} is no kernel")
        if kernel not in kernels:
            kernels.append(kernel)
    return kernels


def _as_list(backends: object) -> list[object]:
    if not isinstance(backends, list):
        raise _not_a_kernel(backends)
    return cast("list[object]", backends)


def _not_a_kernel(given: object) -> AttentionKernelError:
    wanted = "backends of sdpa_kernel takes an SDPBackend or a list of them"
    return AttentionKernelError(f"{wanted}, got a value of type {type(given).__name__}")


def _bool(set_priority: object) -> bool:
    if not isinstance(set_priority, bool):
        kind = type(set_priority).__name__
        raise FlagTypeError(f"set_priority of sdpa_kernel takes a bool, got a value of type {kind}")
    return set_priority


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> _native.FlagScope:
    """Decide which kernels attention may run on, for this thread: a context manager and a decorator.

    Deprecated, with a `FlagDeprecationWarning` (a FutureWarning) where it is called: `sdpa_kernel` takes
    the kernels themselves. Raises `FlagTypeError` for what is no bool.
    """
    scope = _native.FlagScope(
        {
            "cuda.flash_sdp": enable_flash,
            "cuda.math_sdp": enable_math,
            "cuda.mem_efficient_sdp": enable_mem_efficient,
            "cuda.cudnn_sdp": enable_cudnn,
        }
    )
    message = "backends.cuda.sdp_kernel is deprecated; sdpa_kernel takes the kernels themselves"
    warnings.warn(message, FlagDeprecationWarning, stacklevel=2)
    return scope


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


class SDPAParams:
    """The arguments of a scaled-dot-product attention; they can only be read.

    `attn_mask` is a tensor or None; `dropout` a probability. Raises TypeError for an argument of another
    type.
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
            _check(name, tensor, Tensor, "a Tensor")
        _check("attn_mask", attn_mask, (Tensor, type(None)), "a Tensor or None")
        # A bool is an int to Python, and no probability.
        if isinstance(dropout, bool):
            raise _wrong("dropout", dropout, "a float")
        _check("dropout", dropout, (float, int), "a float")
        _check("is_causal", is_causal, bool, "a bool")
        _check("enable_gqa", enable_gqa, bool, "a bool")
        self._query, self._key, self._value, self._attn_mask = query, key, value, attn_mask
        self._dropout, self._is_causal, self._enable_gqa = float(dropout), is_causal, enable_gqa

    @property
    def query(self) -> Tensor:
        """What is looked up."""
        return self._query

    @property
    def key(self) -> Tensor:
        """What the query is compared with."""
        return self._key

    @property
    def value(self) -> Tensor:
        """What is summed, weighted by how well query and key fit."""
        return self._value

    @property
    def attn_mask(self) -> Tensor | None:
        """What is added to the weights before they are normalised, or which of them count; or None."""
        return self._attn_mask

    @property
    def dropout(self) -> float:
        """The probability with which a weight is dropped."""
        return self._dropout

    @property
    def is_causal(self) -> bool:
        """Whether a position sees only those before it."""
        return self._is_causal

    @property
    def enable_gqa(self) -> bool:
        """Whether several heads of the query may share one of key and value."""
        return self._enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether attention on these arguments could run on the flash kernel: never, as yet.

    With `debug` an `AttentionKernelWarning` says why. Raises TypeError for other types.
    """
    return _can_use("can_use_flash_attention", "flash", "cuda.flash_sdp", params, debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether attention on these arguments could run on the memory-efficient kernel: never, as yet.

    With `debug` an `AttentionKernelWarning` says why. Raises TypeError for other types.
    """
    return _can_use(
        "can_use_efficient_attention", "memory-efficient", "cuda.mem_efficient_sdp", params, debug
    )


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether attention on these arguments could run on cuDNN: never, as yet.

    With `debug` an `AttentionKernelWarning` says why. Raises TypeError for other types.
    """
    return _can_use("can_use_cudnn_attention", "cuDNN", "cuda.cudnn_sdp", params, debug)


def is_flash_attention_available() -> bool:
    """Return whether interlock has a flash kernel for cuda: not yet."""
    return False


def is_ck_sdpa_available() -> bool:
    """Return whether attention may run on Composable Kernel: interlock has none."""
    return False


def _can_use(function: str, kernel: str, flag: str, params: SDPAParams, debug: bool) -> bool:
    _check(f"params of {function}", params, SDPAParams, "an SDPAParams")
    _check(f"debug of {function}", debug, bool, "a bool")
    if debug:
        reason = _why_not(kernel, flag, params)
        warnings.warn(f"{function}: {reason}", AttentionKernelWarning, stacklevel=3)
    return False


def _why_not(kernel: str, flag: str, params: SDPAParams) -> str:
    if not _native.read(flag):
        return f"backends.{flag} is off"
    tensors = {"query": params.query, "key": params.key, "value": params.value, "attn_mask": params.attn_mask}
    elsewhere = [
        f"{name} on {tensor.device}"
        for name, tensor in tensors.items()
        if tensor is not None and tensor.device.type != "cuda"
    ]
    if elsewhere:
        return f"the {kernel} kernel runs on cuda, and there is {', '.join(elsewhere)}"
    return f"interlock has no {kernel} kernel"


def _check(name: str, given: object, wanted: type | tuple[type, ...], allowed: str) -> None:
    if not isinstance(given, wanted):
        raise _wrong(name, given, allowed)


def _wrong(name: str, given: object, allowed: str) -> TypeError:
    return TypeError(f"{name} takes {allowed}, got a value of type {type(given).__name__}")
