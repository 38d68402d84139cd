"""Gradient modes of a thread: what operations record for a backward pass."""

from __future__ import annotations

from interlock._core.autograd import is_grad_enabled, is_inference_mode_enabled
from interlock.autograd import grad_mode
from interlock.autograd.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "grad_mode",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
