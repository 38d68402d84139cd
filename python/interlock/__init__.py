"""The control plane of an eager tensor runtime: flags, gradient modes and devices.

The state lives in Rust: a program that embeds Python reads and writes the same flags and modes.
"""

from __future__ import annotations

try:
    from interlock._core import __version__
except ImportError as _refusal:
    # CPython 3.12 and later refuse the extension module themselves in an interpreter with a GIL of its own.
    # In one that shares the GIL, the module refuses, with the same sentence.
    if "subinterpreter" not in str(_refusal):
        raise
    raise ImportError(
        "interlock keeps its state once per process and can't be imported in a sub-interpreter; "
        "import it in the main interpreter",
        name=_refusal.name,
        path=_refusal.path,
    ) from _refusal

from interlock import accelerator, autograd, backends, errors, state
from interlock._core.accelerator import Event, Stream, device, get_default_device, set_default_device
from interlock._core.autograd import is_grad_enabled, is_inference_mode_enabled
from interlock._core.backends import get_float32_matmul_precision, set_float32_matmul_precision
from interlock._tensor import (
    Tensor,
    arange,
    argmax,
    as_tensor,
    bool,
    cat,
    cross_entropy,
    dtype,
    empty,
    exp,
    float32,
    float64,
    from_numpy,
    full,
    int64,
    is_inference,
    is_tensor,
    log,
    log_softmax,
    manual_seed,
    matmul,
    mean,
    ones,
    ones_like,
    rand,
    randn,
    relu,
    softmax,
    stack,
    sum,
    tensor,
    zeros,
    zeros_like,
)
from interlock._typename import typename
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
from interlock.backends._deterministic import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    use_deterministic_algorithms,
)
from interlock.errors import AcceleratorError, OutOfMemoryError
from interlock.state import ThreadState, capture

__all__ = [
    "AcceleratorError",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "Tensor",
    "ThreadState",
    "__version__",
    "accelerator",
    "arange",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "as_tensor",
    "autograd",
    "backends",
    "bool",
    "capture",
    "cat",
    "cross_entropy",
    "device",
    "dtype",
    "empty",
    "enable_grad",
    "enforce_grad_layout_policy",
    "errors",
    "exp",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "inference_mode",
    "int64",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "log",
    "log_softmax",
    "manual_seed",
    "matmul",
    "mean",
    "no_grad",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "relu",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "softmax",
    "stack",
    "state",
    "sum",
    "tensor",
    "typename",
    "use_deterministic_algorithms",
    "zeros",
    "zeros_like",
]
