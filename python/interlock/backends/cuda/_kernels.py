"""Scopes that choose the kernels on which scaled-dot-product attention may run."""

from __future__ import annotations

import warnings
from typing import cast

from interlock._core import backends as _native
from interlock.backends.cuda._enums import NumberedEnum
from interlock.errors import AttentionKernelError, FlagDeprecationWarning, FlagTypeError, FlagValueError


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
    given: list[object] = [backends] if isinstance(backends, SDPBackend) else _listed(backends)
    kernels: list[SDPBackend] = []
    for kernel in given:
        if not isinstance(kernel, SDPBackend):
            raise _no_kernel(kernel)
        if kernel is SDPBackend.ERROR:
            allowed = ", ".join(str(each) for each in SDPBackend if each is not SDPBackend.ERROR)
            raise FlagValueError(f"backends of sdpa_kernel takes {allowed}; {kernel} is no kernel")
        if kernel not in kernels:
            kernels.append(kernel)
    return kernels


def _listed(backends: object) -> list[object]:
    if not isinstance(backends, list):
        raise _no_kernel(backends)
    return cast("list[object]", backends)


def _no_kernel(given: object) -> AttentionKernelError:
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
