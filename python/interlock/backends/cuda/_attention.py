"""Which kernels of scaled-dot-product attention could run on given tensors: none yet on cuda."""

from __future__ import annotations

import warnings

from interlock._core import backends as _native
from interlock._core.tensor import Tensor
from interlock.errors import AttentionKernelWarning


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
