"""The context managers that change gradient modes.

They hold for the thread that enters them. Threads started later begin with the defaults: gradients on,
inference mode off.
"""

from __future__ import annotations

from interlock._core.autograd import (
    _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "_force_original_view_tracking",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
