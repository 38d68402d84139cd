"""Gradient modes, `backward`, functions with a user-defined gradient, and `gradcheck`.

A build without the tensor runtime has only the gradient modes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock._core.autograd import (
    ModeChange,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    is_view_replay_enabled,
    on_change,
)
from interlock._features import HAS_TENSORS, remove_missing
from interlock._lazy import list_exports
from interlock.autograd import anomaly_mode, grad_mode
from interlock.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from interlock.autograd.grad_mode import (
    _enter_inference_mode as _enter_inference_mode,
    _exit_inference_mode as _exit_inference_mode,
    _force_original_view_tracking as _force_original_view_tracking,
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import Node, backward, grad
    from interlock.autograd import function, graph
    from interlock.autograd.function import Function
    from interlock.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "ModeChange",
    "Node",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "on_change",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

remove_missing(globals())
list_exports(globals())
