"""The control plane of an eager tensor runtime: flags, gradient modes and devices.

The state lives in Rust: a program that embeds Python reads and writes the same flags and modes.
"""

from __future__ import annotations

from interlock import accelerator, autograd, backends, errors
from interlock._core import __version__
from interlock._core.accelerator import device
from interlock._core.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from interlock._core.backends import get_float32_matmul_precision, set_float32_matmul_precision

__all__ = [
    "__version__",
    "accelerator",
    "autograd",
    "backends",
    "device",
    "enable_grad",
    "errors",
    "get_float32_matmul_precision",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_float32_matmul_precision",
    "set_grad_enabled",
]
