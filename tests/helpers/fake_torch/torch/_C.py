"""A fake of the functions of `torch._C` that read and write settings.

A value is stored under the name of its getter. The tree of precisions inherits, and mixing its two interfaces
makes reading raise, as in PyTorch.
"""

import threading


class _Modes(threading.local):
    def __init__(self):
        self.values = dict(_MODES)


_values = {
    "_get_cudnn_enabled": True,
    "_get_cudnn_deterministic": False,
    "_get_cudnn_benchmark": False,
    "_cuda_get_cudnn_benchmark_limit": 10,
    "_get_cudnn_depthwise_kernel": "auto",
    "_get_cublas_allow_fp16_accumulation": False,
    "_get_mkldnn_enabled": True,
    "_get_mkldnn_deterministic": False,
    "_get_miopen_immediate": False,
    "_get_nnpack_enabled": True,
    "_get_flash_sdp_enabled": True,
    "_get_mem_efficient_sdp_enabled": True,
    "_get_math_sdp_enabled": True,
    "_get_cudnn_sdp_enabled": True,
    "_get_math_sdp_allow_fp16_bf16_reduction": False,
    "_get_deterministic_fill_uninitialized_memory": True,
    "_get_qengine": 4,
    "_get_onednn_allow_tf32": None,
    "_get_cudnn_allow_tf32": True,
}
_SETTERS = {
    "_cuda_get_cudnn_benchmark_limit": "_cuda_set_cudnn_benchmark_limit",
    "_get_flash_sdp_enabled": "_set_sdp_use_flash",
    "_get_mem_efficient_sdp_enabled": "_set_sdp_use_mem_efficient",
    "_get_math_sdp_enabled": "_set_sdp_use_math",
    "_get_cudnn_sdp_enabled": "_set_sdp_use_cudnn",
}
_MODES = {
    "is_grad_enabled": True,
    "_is_multithreading_enabled": True,
    "_is_view_replay_enabled": False,
    "_is_grad_layout_enforcement_enabled": True,
    "is_inference_mode_enabled": False,
    "is_autocast_cache_enabled": True,
}
_modes = _Modes()
_has_cudnn = True


def _define(getter, setter, values):
    def get():
        return values()[getter]

    def set_value(value):
        if type(value) is not type(values()[getter]):
            raise TypeError(f"{setter} expects a {type(values()[getter]).__name__}")
        values()[getter] = value

    for name, function in ((getter, get), (setter, set_value)):
        function.__name__ = function.__qualname__ = name
        globals()[name] = function


for _getter in _values:
    _define(_getter, _SETTERS.get(_getter, _getter.replace("_get_", "_set_")), lambda: _values)
for _getter, _setter in (
    ("is_grad_enabled", "_set_grad_enabled"),
    ("_is_multithreading_enabled", "_set_multithreading_enabled"),
    ("_is_view_replay_enabled", "_set_view_replay_enabled"),
    ("_is_grad_layout_enforcement_enabled", "_set_grad_layout_enforcement_enabled"),
    ("is_inference_mode_enabled", "_set_inference_mode"),
    ("is_autocast_cache_enabled", "set_autocast_cache_enabled"),
):
    _define(_getter, _setter, lambda: _modes.values)


# Pairs.
_reductions = {"fp16": (True, True), "bf16": (True, True)}


def _get_cublas_allow_fp16_reduced_precision_reduction():
    return _reductions["fp16"]


def _get_cublas_allow_bf16_reduced_precision_reduction():
    return _reductions["bf16"]


def _set_cublas_allow_fp16_reduced_precision_reduction(allow, split_k):
    _reductions["fp16"] = (allow, split_k)


def _set_cublas_allow_bf16_reduced_precision_reduction(allow, split_k):
    _reductions["bf16"] = (allow, split_k)


# Enums.
class _Member:
    def __init__(self, name):
        self.name = name


_preferred = {"linalg": _Member("Default"), "blas": _Member("Cublas"), "rocm_fa": _Member("Default")}


def _get_linalg_preferred_backend():
    return _preferred["linalg"]


def _get_blas_preferred_backend():
    return _preferred["blas"]


def _get_rocm_fa_preferred_backend():
    return _preferred["rocm_fa"]


def _set_linalg_preferred_backend(member):
    _preferred["linalg"] = member


def _set_blas_preferred_backend(member):
    _preferred["blas"] = member


def _set_rocm_fa_preferred_backend(member):
    _preferred["rocm_fa"] = member


# Precision.
_nodes = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}
_legacy = {"matmul": "highest"}


def _get_fp32_precision_getter(backend, operation):
    for node in ((backend, operation), (backend, "all"), ("generic", "all")):
        if _nodes.get(node, "none") != "none":
            return _nodes[node]
    return "none"


def _set_fp32_precision_setter(backend, operation, value):
    if value not in ("none", "ieee", "tf32", "bf16"):
        raise RuntimeError(f"invalid precision {value}")
    _nodes[backend, operation] = value


def _check_mixed():
    if (_get_fp32_precision_getter("cuda", "matmul") == "tf32") != (_legacy["matmul"] != "highest"):
        raise RuntimeError("you have used mix of the legacy and new APIs\nmore")


def _get_float32_matmul_precision():
    _check_mixed()
    return _legacy["matmul"]


def _set_float32_matmul_precision(value):
    _legacy["matmul"] = value
    for backend in ("cuda", "mkldnn"):
        _nodes[backend, "matmul"] = "ieee" if value == "highest" else "tf32"


def _get_cublas_allow_tf32():
    _check_mixed()
    return _legacy["matmul"] != "highest"


def _set_cublas_allow_tf32(value):
    _legacy["matmul"] = "high" if value else "highest"
    _nodes["cuda", "matmul"] = "tf32" if value else "ieee"


# Functions with several values.
_others = {
    "deterministic": (False, False),
    "anomaly": (False, True),
    "num_threads": 2,
    "num_interop_threads": 2,
    "warn_always": False,
    "default_dtype": None,
    "flush_denormal": False,
}


def _set_deterministic_algorithms(mode, *, warn_only=False):
    _others["deterministic"] = (mode, warn_only)


def set_anomaly_enabled(mode, check_nan=True):
    _others["anomaly"] = (mode, check_nan)


def set_num_threads(count):
    _others["num_threads"] = count


def set_num_interop_threads(count):
    _others["num_interop_threads"] = count


def set_flush_denormal(value):
    return False


def _set_warnAlways(value):
    _others["warn_always"] = value


def _set_default_dtype(dtype):
    _others["default_dtype"] = dtype


def _set_default_tensor_type(dtype):
    _others["default_dtype"] = dtype


_autocast = threading.local()


def is_autocast_enabled(device):
    return vars(_autocast).get((device, "enabled"), False)


def set_autocast_enabled(device, value):
    vars(_autocast)[device, "enabled"] = value


def get_autocast_dtype(device):
    import torch

    return vars(_autocast).get((device, "dtype"), torch.bfloat16 if device == "cpu" else torch.float16)


def set_autocast_dtype(device, dtype):
    vars(_autocast)[device, "dtype"] = dtype


def clear_autocast_cache():
    """Clear a cache that this fake does not have."""


_SET_BY_INFERENCE = ("is_grad_enabled", "_is_multithreading_enabled", "_is_view_replay_enabled")
_SET_BY_INFERENCE += ("_is_grad_layout_enforcement_enabled", "is_inference_mode_enabled")


class _InferenceMode:
    """A guard, which puts back all modes that it has found, and whether autocast was on."""

    def __init__(self, on):
        self._on = on

    def __enter__(self):
        self._found = {name: _modes.values[name] for name in _SET_BY_INFERENCE}
        self._autocast = {key: on for key, on in vars(_autocast).items() if key[1] == "enabled"}
        values = (not self._on, not self._on, False, True, self._on)
        _modes.values |= dict(zip(_SET_BY_INFERENCE, values, strict=True))

    def __exit__(self, *error):
        _modes.values |= self._found
        for key in [key for key in vars(_autocast) if key[1] == "enabled"]:
            vars(_autocast)[key] = self._autocast.get(key, False)
