"""PyTorch's global-state APIs without PyTorch: backend flags, gradient modes, devices and memory.

The state is stored in Rust: a Rust program that embeds Python reads and writes the same flags and modes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from interlock._version import VERSION as _VERSION

try:
    from interlock._core import LIBRARY, __version__
except ImportError as _refusal:
    # CPython 3.12 and later reject the extension module in a sub-interpreter with its own GIL. In a
    # sub-interpreter that shares the GIL, the module itself raises, with the same message.
    if "subinterpreter" not in str(_refusal):
        raise
    raise ImportError(
        "interlock keeps its state once per process and can't be imported in a sub-interpreter; "
        "import it in the main interpreter",
        name=_refusal.name,
        path=_refusal.path,
    ) from _refusal

if __version__ != _VERSION:
    # A program that embeds Python may have registered its own extension module.
    raise ImportError(
        "interlock's Python files and its extension module must have one version: "
        f"{__file__} has {_VERSION}, {LIBRARY} has {__version__}; reinstall interlock, in the version of "
        "the program if it embeds Python",
        name=__name__,
        path=__file__,
    )

from interlock import accelerator, autograd, backends, dispatch, errors, nn, return_types, state, utils
from interlock._core.accelerator import Event, Stream, device, get_default_device, set_default_device
from interlock._core.autograd import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
)
from interlock._core.backends import get_float32_matmul_precision, set_float32_matmul_precision
from interlock._core.tensor import (
    Tensor,
    addmm,
    all,
    allclose,
    amax,
    amin,
    aminmax,
    any,
    arange,
    argmax,
    argmin,
    argsort,
    as_tensor,
    bfloat16,
    bmm,
    bool,
    cat,
    count_nonzero,
    cross_entropy,
    cumprod,
    cumsum,
    dtype,
    einsum,
    empty,
    equal,
    exp,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    full,
    get_num_threads,
    half,
    int8,
    int16,
    int32,
    int64,
    is_inference,
    is_tensor,
    isclose,
    log,
    log_softmax,
    logsumexp,
    lstm,
    manual_seed,
    matmul,
    max,
    mean,
    min,
    mm,
    norm,
    ones,
    ones_like,
    prod,
    rand,
    randn,
    relu,
    set_num_threads,
    softmax,
    sort,
    stack,
    std,
    std_mean,
    sum,
    tensor,
    topk,
    uint8,
    var,
    var_mean,
    zeros,
    zeros_like,
)
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
from interlock.backends._determinism import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    use_deterministic_algorithms,
)
from interlock.errors import AcceleratorError, OutOfMemoryError
from interlock.state import ThreadState, capture

if TYPE_CHECKING:
    from types import ModuleType

    from interlock import aio, testing

__all__ = [
    "AcceleratorError",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "Tensor",
    "ThreadState",
    "__version__",
    "accelerator",
    "addmm",
    "aio",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "any",
    "arange",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "as_tensor",
    "autograd",
    "backends",
    "bfloat16",
    "bmm",
    "bool",
    "capture",
    "cat",
    "count_nonzero",
    "cross_entropy",
    "cumprod",
    "cumsum",
    "device",
    "dispatch",
    "double",
    "dtype",
    "einsum",
    "empty",
    "enable_grad",
    "enforce_grad_layout_policy",
    "equal",
    "errors",
    "exp",
    "float",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_include",
    "get_num_threads",
    "half",
    "inference_mode",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "isclose",
    "log",
    "log_softmax",
    "logsumexp",
    "long",
    "lstm",
    "manual_seed",
    "matmul",
    "max",
    "mean",
    "min",
    "mm",
    "nn",
    "no_grad",
    "norm",
    "ones",
    "ones_like",
    "prod",
    "rand",
    "randn",
    "relu",
    "return_types",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_num_threads",
    "short",
    "softmax",
    "sort",
    "stack",
    "state",
    "std",
    "std_mean",
    "sum",
    "tensor",
    "testing",
    "topk",
    "typename",
    "uint8",
    "use_deterministic_algorithms",
    "utils",
    "var",
    "var_mean",
    "zeros",
    "zeros_like",
]

# PyTorch's other names of the dtypes. They hide the builtins only in this module.
double = float64
float = float32
int = int32
long = int64
short = int16

_TYPE_NAMES = {
    bool: "BoolTensor",
    uint8: "ByteTensor",
    int8: "CharTensor",
    int16: "ShortTensor",
    int32: "IntTensor",
    int64: "LongTensor",
    float16: "HalfTensor",
    bfloat16: "BFloat16Tensor",
    float32: "FloatTensor",
    float64: "DoubleTensor",
}


def typename(obj: object, /) -> str:
    """Return the qualified name of a class or function, or of the class of another object.

    Args:
        obj: Any object. For a tensor the name depends on its dtype, as in ``interlock.FloatTensor``.

    Returns:
        The name with its module, or without it if the module is ``builtins``.

    Example:
        >>> import interlock
        >>> interlock.typename(interlock.ones(1)), interlock.typename(3)
        ('interlock.FloatTensor', 'int')
        >>> interlock.typename(interlock.no_grad)
        'interlock.autograd.grad_mode.no_grad'

    """
    if isinstance(obj, Tensor):
        return f"interlock.{_TYPE_NAMES[obj.dtype]}"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module: str | None = getattr(named, "__module__", None)
    prefix = "" if module in (None, "builtins") else f"{module}."
    return f"{prefix}{named.__qualname__}"


def get_include() -> str:
    """Return the folder of the C header `interlock.h`.

    Extension modules in C and C++ include the header to reach the state of this process.

    Returns:
        The absolute path of a folder in the package.

    Example:
        >>> import os
        >>> import interlock
        >>> os.path.exists(os.path.join(interlock.get_include(), "interlock.h"))
        True

    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def __getattr__(name: str) -> ModuleType:
    """Import `aio` or `testing` on first use, so that `import interlock` does not import asyncio."""
    if name not in ("aio", "testing"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), "aio", "testing"})
