"""The context managers that change gradient modes.

They hold for the thread that enters them. Threads started later begin with the defaults: gradients on,
inference mode off.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ContextDecorator

from interlock._core.autograd import (
    _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from interlock._core.tensor import Tensor

__all__ = [
    "_force_original_view_tracking",
    "_unsafe_preserve_version_counter",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _unsafe_preserve_version_counter(ContextDecorator):
    """Put the versions of tensors back afterwards, so that changes in between go unnoticed.

    A backward pass then uses the changed values where it has saved such a tensor. Raises RuntimeError for
    inference tensors, which have no version.
    """

    def __init__(self, tensors: Tensor | Iterable[Tensor]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        self.prev_versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions, strict=True):
            tensor._set_version(version)
