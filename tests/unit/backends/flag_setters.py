"""The functions that write flags: `flags` and `set_flags` of the modules that have them, and others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import interlock
from interlock import backends

from tests.unit.backends.flag_spec import Flag
from tests.unit.backends.flag_specs import BY_NAME

MODULES = ("", "cudnn", "mkldnn", "miopen", "nnpack", "opt_einsum")
"""The modules that have `flags` and `set_flags`, by their name below `backends`."""
NAMES_WHAT_IS_GIVEN = ("opt_einsum",)
"""Those whose `flags` decides only what is given; it is given where it is not None."""

FUNCTIONS: dict[str, tuple[Callable[..., object], tuple[str, ...]]] = {
    "use_deterministic_algorithms": (
        lambda mode, warn_only: interlock.use_deterministic_algorithms(mode, warn_only=warn_only),
        ("deterministic_algorithms", "deterministic_algorithms_warn_only"),
    ),
    "mha.set_fastpath_enabled": (backends.mha.set_fastpath_enabled, ("mha.fastpath",)),
    "cuda.enable_flash_sdp": (backends.cuda.enable_flash_sdp, ("cuda.flash_sdp",)),
    "cuda.enable_mem_efficient_sdp": (backends.cuda.enable_mem_efficient_sdp, ("cuda.mem_efficient_sdp",)),
    "cuda.enable_math_sdp": (backends.cuda.enable_math_sdp, ("cuda.math_sdp",)),
    "cuda.enable_cudnn_sdp": (backends.cuda.enable_cudnn_sdp, ("cuda.cudnn_sdp",)),
    "cuda.allow_fp16_bf16_reduction_math_sdp": (
        backends.cuda.allow_fp16_bf16_reduction_math_sdp,
        ("cuda.fp16_bf16_reduction_math_sdp",),
    ),
    "cuda.preferred_linalg_library": (backends.cuda.preferred_linalg_library, ("cuda.linalg_library",)),
    "cuda.preferred_blas_library": (backends.cuda.preferred_blas_library, ("cuda.blas_library",)),
    "cuda.preferred_rocm_fa_library": (backends.cuda.preferred_rocm_fa_library, ("cuda.rocm_fa_library",)),
    "cuda.cublas_workspace_size": (backends.cuda.cublas_workspace_size, ("cuda.cublas_workspace",)),
    "cuda.cublaslt_workspace_size": (backends.cuda.cublaslt_workspace_size, ("cuda.cublaslt_workspace",)),
}
"""Functions that assign flags, each with the flags that take its arguments."""


def reads_with_none(function: str) -> bool:
    """Whether None is no value to the function: it then only reads."""
    return "preferred" in function or "workspace" in function


def refused_by(function: str, flag: Flag) -> list[object]:
    """What the function refuses as the value of the flag."""
    return [wrong for wrong in flag.wrong if wrong is not None or not reads_with_none(function)]


def module_named(name: str) -> Any:
    return getattr(backends, name) if name else backends


def own_flags(module: str) -> list[Flag]:
    """The flags that the module's `flags` and `set_flags` take, in their order: those that PyTorch's take."""
    prefix = f"{module}." if module else ""
    return [BY_NAME[prefix + name] for name in inspect.signature(module_named(module).flags).parameters]


def none_means_left_out(module: str) -> bool:
    """Whether `set_flags` of the module leaves a flag as it is for None: not where it must be given."""
    parameters = inspect.signature(module_named(module).set_flags).parameters.values()
    return all(parameter.default is not parameter.empty for parameter in parameters)


def by_attribute(values: dict[str, object]) -> dict[str, Any]:
    """Values by dotted name as the arguments of a module's `flags`."""
    return {name.rpartition(".")[2]: value for name, value in values.items()}
