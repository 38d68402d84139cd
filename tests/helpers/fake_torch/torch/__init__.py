"""A fake of PyTorch for tests of its settings.

It has the functions and attributes that `interlock.integrations.torch` uses, with PyTorch's behaviour as far
as settings are concerned. `make test-integrations` runs the same tests with PyTorch.
"""

import threading
import types

from torch import _C
from torch._C import (
    clear_autocast_cache as clear_autocast_cache,
    get_autocast_dtype as get_autocast_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_enabled as is_autocast_enabled,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    set_anomaly_enabled as set_anomaly_enabled,
    set_autocast_cache_enabled as set_autocast_cache_enabled,
    set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled,
    set_flush_denormal as set_flush_denormal,
    set_num_interop_threads as set_num_interop_threads,
    set_num_threads as set_num_threads,
)

__version__ = "2.13.0+fake"
_GLOBAL_DEVICE_CONTEXT = threading.local()


class dtype:
    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"


float16, bfloat16, float32, float64 = (dtype(name) for name in ("float16", "bfloat16", "float32", "float64"))
_C._others["default_dtype"] = float32


def get_default_dtype():
    return _C._others["default_dtype"]


def set_default_dtype(value):
    _C._set_default_dtype(value)


def set_default_device(device):
    context = None if device is None else types.SimpleNamespace(device=device)
    _GLOBAL_DEVICE_CONTEXT.device_context = context


def get_num_threads():
    return _C._others["num_threads"]


def get_num_interop_threads():
    return _C._others["num_interop_threads"]


def get_float32_matmul_precision():
    return _C._get_float32_matmul_precision()


def set_float32_matmul_precision(precision):
    _C._set_float32_matmul_precision(precision)


def are_deterministic_algorithms_enabled():
    return _C._others["deterministic"][0]


def is_deterministic_algorithms_warn_only_enabled():
    return _C._others["deterministic"][1]


def use_deterministic_algorithms(mode, *, warn_only=False):
    _C._set_deterministic_algorithms(mode, warn_only=warn_only)


def is_anomaly_enabled():
    return _C._others["anomaly"][0]


def is_anomaly_check_nan_enabled():
    return _C._others["anomaly"][1]


def is_warn_always_enabled():
    return _C._others["warn_always"]


def set_warn_always(value):
    _C._set_warnAlways(value)


class _Scope:
    """A context manager that sets a mode of the thread and puts back what it has found."""

    def __init__(self, read, write, value):
        self._read, self._write, self._value = read, write, value

    def __enter__(self):
        self._found = self._read()
        self._write(self._value)

    def __exit__(self, *error):
        self._write(self._found)


def no_grad():
    return _Scope(_C.is_grad_enabled, _C._set_grad_enabled, False)


def enable_grad():
    return _Scope(_C.is_grad_enabled, _C._set_grad_enabled, True)


def inference_mode(mode=True):
    return _C._InferenceMode(mode)


def autocast(device):
    def read():
        return is_autocast_enabled(device)

    return _Scope(read, lambda on: set_autocast_enabled(device, on), True)


class Tensor:
    """A tensor that records how it was made."""

    def __init__(self):
        self.requires_grad = is_grad_enabled() and not is_inference_mode_enabled()
        self._is_inference = is_inference_mode_enabled()

    def is_inference(self):
        return self._is_inference


def ones(*shape):
    return Tensor()


class Linear:
    def __init__(self, inputs, outputs):
        pass

    def __call__(self, tensor):
        return Tensor()


nn = types.SimpleNamespace(Linear=Linear)


def _current_device():
    raise RuntimeError("CUDA would be initialized")


compiler = types.SimpleNamespace(is_compiling=lambda: False)
cuda = types.SimpleNamespace(is_initialized=lambda: False, current_device=_current_device)

from torch import backends as backends  # noqa: E402
