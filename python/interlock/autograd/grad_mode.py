"""Context managers and decorators that change gradient modes.

A mode affects the context that enters it (`contextvars`), such as an asyncio task, and copies of that
context. New threads start with the defaults: gradients enabled, inference mode disabled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from interlock._arguments import as_bool
from interlock._core.autograd import (
    _force_original_view_tracking as _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from interlock._core.state import UninterruptedExit, warn_not_open
from interlock._features import Tensor
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
    """Enter `inference_mode(mode)` without a `with` statement; exit it with `_exit_inference_mode`.

    Raises:
        TypeError: `mode` is not a bool.

    """
    # `inference_mode(function)` would return a decorated function.
    entered = inference_mode(as_bool("_enter_inference_mode: mode", mode))
    entered.__enter__()
    return entered


def _exit_inference_mode(mode: inference_mode) -> None:
    """Exit the mode that `_enter_inference_mode` returned.

    Raises:
        TypeError: `mode` is not an `inference_mode`.

    """
    if not isinstance(mode, inference_mode):
        raise TypeError(
            "_exit_inference_mode: mode must be the object that _enter_inference_mode returned, "
            f"got {_type_of(mode)}"
        )
    mode.__exit__(None, None, None)


class _unsafe_preserve_version_counter(UninterruptedExit):
    """Context manager and decorator that restores the version counters of tensors on exit.

    In-place changes inside the block are then not detected: a backward pass that saved such a tensor uses the
    changed values. Inference tensors have no version counter and are skipped. Unlike a mode, it affects all
    threads, because the version counter belongs to the tensor.

    Args:
        tensors: One tensor or several.

    Raises:
        TypeError: `tensors` or an element of it is not a tensor.

    """

    tensors: tuple[Tensor, ...]
    prev_versions: tuple[int | None, ...]
    """The version counters when the object was created or last entered; None for inference tensors."""

    def __init__(self, tensors: Tensor | Iterable[Tensor]) -> None:
        if not isinstance(tensors, Iterable):
            raise TypeError(
                f"{type(self).__name__}: tensors must be a Tensor or several, got {_type_of(tensors)}"
            )
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        for each in self.tensors:
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"{type(self).__name__}: each item of tensors must be a Tensor, got {_type_of(each)}"
                )
        self.prev_versions = self._versions()
        # The object can be entered again while it is open.
        self._entered_versions: list[tuple[int | None, ...]] = []

    def _versions(self) -> tuple[int | None, ...]:
        return tuple(None if tensor.is_inference() else tensor._version for tensor in self.tensors)

    def clone(self) -> Self:
        return type(self)(self.tensors)

    def __enter__(self) -> None:
        self.prev_versions = self._versions()
        self._entered_versions.append(self.prev_versions)

    def _exit(self, exited: list[tuple[int | None, ...]]) -> None:
        if not exited:
            if not self._entered_versions:
                return warn_not_open("_unsafe_preserve_version_counter")
            versions = self._entered_versions[-1]
            del self._entered_versions[-1]
            exited.append(versions)
        for tensor, version in zip(self.tensors, exited[0], strict=True):
            if version is not None:
                tensor._set_version(version)

    __call__ = decorate


def _type_of(value: object) -> str:
    return type(value).__name__
