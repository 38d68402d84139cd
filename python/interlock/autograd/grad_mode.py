"""The context managers that change gradient modes.

They hold for the thread that enters them. Threads started later begin with the defaults: gradients on,
inference mode off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from interlock._core.autograd import (
    _force_original_view_tracking as _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from interlock._core.tensor import Tensor
from interlock._scope_decorator import decorate

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def _enter_inference_mode(mode: bool) -> inference_mode:
    """Enter `inference_mode(mode)` for code that can't use `with`; `_exit_inference_mode` ends it.

    Raises TypeError for a mode that is no bool.
    """
    # Of a function it would make a decorated one.
    if not isinstance(mode, bool):
        raise TypeError(f"_enter_inference_mode() takes mode, a bool, got a value of type {_type_of(mode)}")
    entered = inference_mode(mode)
    entered.__enter__()
    return entered


def _exit_inference_mode(mode: inference_mode) -> None:
    """End what `_enter_inference_mode` returned. Raises TypeError for anything else."""
    if not isinstance(mode, inference_mode):
        raise TypeError(
            "_exit_inference_mode() takes what _enter_inference_mode() returned, "
            f"got a value of type {_type_of(mode)}"
        )
    mode.__exit__(None, None, None)


class _unsafe_preserve_version_counter:
    """Put the versions of tensors back afterwards, so that changes in between go unnoticed.

    A backward pass then uses the changed values where it has saved such a tensor. Inference tensors have
    no version and are left alone. A context manager and a decorator, for one tensor or several. Unlike a
    mode it is for every thread, because a version belongs to its tensor. Raises TypeError for what is no
    tensor.
    """

    tensors: tuple[Tensor, ...]
    prev_versions: tuple[int | None, ...]
    """What the versions were when it was made or last entered; None for inference tensors."""

    def __init__(self, tensors: Tensor | Iterable[Tensor]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        for each in self.tensors:
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"{type(self).__name__}() takes tensors, got a value of type {_type_of(each)}"
                )
        self.prev_versions = self._versions()
        # An object may be entered again while it is open.
        self._at_each_enter: list[tuple[int | None, ...]] = []

    def _versions(self) -> tuple[int | None, ...]:
        return tuple(None if tensor.is_inference() else tensor._version for tensor in self.tensors)

    def clone(self) -> Self:
        return type(self)(self.tensors)

    def __enter__(self) -> None:
        self.prev_versions = self._versions()
        self._at_each_enter.append(self.prev_versions)

    def __exit__(self, *args: object) -> None:
        if not self._at_each_enter:
            return
        for tensor, version in zip(self.tensors, self._at_each_enter.pop(), strict=True):
            if version is not None:
                tensor._set_version(version)

    __call__ = decorate


def _type_of(value: object) -> str:
    return type(value).__name__
