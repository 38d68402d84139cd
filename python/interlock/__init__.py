"""PyTorch's global-state APIs without PyTorch: backend flags, gradient modes, devices and memory.

The state is stored in Rust: a Rust program that embeds Python reads and writes the same flags and modes.

`__features__` lists the optional parts of the build. Without `"tensor"`, tensors, operations, `fft`,
`linalg`, `nn` and the functions of `autograd` on tensors are missing: their names raise AttributeError.

PYTEST_DONT_REWRITE: pytest warns of plugins that are imported before it, unless they contain this word.
"""

from __future__ import annotations

import os

from interlock._version import VERSION as _VERSION

try:
    from interlock._core import LIBRARY, __features__ as __features__, __version__
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

from interlock import errors
from interlock._core.accelerator import Event, Stream, device, get_default_device, set_default_device
from interlock._core.autograd import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
)
from interlock._core.backends import (
    environment_problems as _environment_problems,
    get_float32_matmul_precision,
    get_num_threads,
    set_float32_matmul_precision,
    set_num_threads,
)
from interlock._core.state import TRACED as _TRACED
from interlock._features import HAS_TENSORS, remove_missing
from interlock._flag_modules import add_flags_of_all as _add_flags_of_all
from interlock._lazy import import_lazily as _import_lazily
from interlock.errors import AcceleratorError, OutOfMemoryError

# Type checkers take it for True. `typing` takes longer to import than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import *
    from interlock._core.tensor import (
        Tensor,
        bfloat16,
        bool,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
    )

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

if TYPE_CHECKING:
    from interlock import (
        accelerator,
        aio,
        autograd,
        backends,
        dispatch,
        fft,
        integrations,
        linalg,
        nn,
        return_types,
        settings,
        state,
        testing,
        threads,
        utils,
    )
    from interlock._constants import e, inf, nan, pi
    from interlock._executor import Executor as Executor
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
    from interlock.state import ThreadState, capture

__all__ = [
    "AcceleratorError",
    "Event",
    "Executor",
    "OutOfMemoryError",
    "Stream",
    "ThreadState",
    "__version__",
    "accelerator",
    "aio",
    "are_deterministic_algorithms_enabled",
    "autograd",
    "backends",
    "capture",
    "device",
    "dispatch",
    "double",
    "e",
    "enable_grad",
    "enforce_grad_layout_policy",
    "errors",
    "fft",
    "float",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_include",
    "get_num_threads",
    "inf",
    "inference_mode",
    "int",
    "integrations",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "linalg",
    "long",
    "nan",
    "nn",
    "no_grad",
    "pi",
    "return_types",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_num_threads",
    "settings",
    "short",
    "state",
    "testing",
    "threads",
    "typename",
    "use_deterministic_algorithms",
    "utils",
]
# <public names of tensors>
__all__ += [
    "Generator",
    "QuantizedDType",
    "QuantizedTensor",
    "Tensor",
    "abs",
    "abs_",
    "absolute",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "adjoint",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "any",
    "arange",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "argmax",
    "argmin",
    "argsort",
    "as_strided",
    "as_tensor",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "baddbmm",
    "bernoulli",
    "bfloat16",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "bool",
    "broadcast_tensors",
    "broadcast_to",
    "can_cast",
    "cat",
    "ceil",
    "ceil_",
    "channels_last",
    "channels_last_3d",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "contiguous_format",
    "conv2d",
    "copysign",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "cross_entropy",
    "cumprod",
    "cumsum",
    "default_generator",
    "dequantize",
    "detach",
    "detach_",
    "diagonal",
    "div",
    "divide",
    "dot",
    "dtype",
    "einsum",
    "empty",
    "empty_like",
    "empty_strided",
    "eq",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expm1",
    "expm1_",
    "eye",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "get_default_dtype",
    "get_rng_state",
    "greater",
    "greater_equal",
    "gt",
    "half",
    "hstack",
    "hypot",
    "iinfo",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_select",
    "initial_seed",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_floating_point",
    "is_inference",
    "is_signed",
    "is_tensor",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "layout",
    "le",
    "lerp",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "lstm",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "memory_format",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "nan_to_num",
    "nan_to_num_",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "nonzero",
    "norm",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "positive",
    "pow",
    "preserve_format",
    "prod",
    "promote_types",
    "put",
    "qint32",
    "qint8",
    "quantize_per_tensor",
    "quint8",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "ravel",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "repeat_interleave",
    "reshape",
    "resize_as_",
    "result_type",
    "roll",
    "round",
    "round_",
    "rsqrt",
    "rsqrt_",
    "scatter",
    "scatter_add",
    "select",
    "set_printoptions",
    "set_rng_state",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signbit",
    "sin",
    "sin_",
    "sinh",
    "sinh_",
    "softmax",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "strided",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "trunc_",
    "uint8",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
    "var_mean",
    "vstack",
    "where",
    "zero_",
    "zeros",
    "zeros_like",
]
# </public names of tensors>


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
    if HAS_TENSORS and isinstance(obj, Tensor):
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


_LAZY = {
    name: module
    for module, names in {
        "_constants": ("e", "inf", "nan", "pi"),
        "_executor": ("Executor",),
        "autograd.grad_mode": (
            "_enter_inference_mode",
            "_exit_inference_mode",
            "_force_original_view_tracking",
            "_unsafe_preserve_version_counter",
            "enable_grad",
            "enforce_grad_layout_policy",
            "inference_mode",
            "no_grad",
            "set_grad_enabled",
            "set_multithreading_enabled",
        ),
        "backends._determinism": (
            "are_deterministic_algorithms_enabled",
            "get_deterministic_debug_mode",
            "is_deterministic_algorithms_warn_only_enabled",
            "set_deterministic_debug_mode",
            "use_deterministic_algorithms",
        ),
        "state": ("ThreadState", "capture"),
    }.items()
    for name in names
}
_SUBMODULES = ["accelerator", "aio", "autograd", "backends", "dispatch", "integrations", "settings", "state"]
_SUBMODULES += ["testing", "threads", "utils"]
_SUBMODULES += ["fft", "linalg", "nn", "return_types"] if HAS_TENSORS else []
_LAZY |= {name: name for name in _SUBMODULES}
_import_lazily(globals(), _LAZY, _add_flags_of_all)
remove_missing(globals(), frozenset(_LAZY))

# With these variables the modules issue warnings, or report when the process ends.
if _environment_problems():
    from interlock import backends
if _TRACED:
    from interlock import state
if os.environ.get("INTERLOCK_DETECT_RACES"):
    from interlock._races import start_from_environment as _start_from_environment

    _start_from_environment()
# A process that was started with the state of another one; see `interlock.integrations.Portable.env`.
if _state := os.environ.get("INTERLOCK_STATE"):
    from interlock.integrations._received import install_from_environment as _install_from_environment

    _install_from_environment(_state)
