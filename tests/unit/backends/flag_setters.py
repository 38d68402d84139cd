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
"""The modules with `flags` and `set_flags`, by their name below `backends`."""
SETS_ONLY_GIVEN = ("opt_einsum",)
"""The modules whose `flags` sets only arguments that are not None."""

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
"""Functions that assign flags, each with the flags of its arguments."""


def reads_with_none(function: str) -> bool:
    """Return whether the function only reads for None."""
    return "preferred" in function or "workspace" in function


def refused_by(function: str, flag: Flag) -> list[object]:
    """Return the values of the flag that the function refuses."""
    return [wrong for wrong in flag.wrong if wrong is not None or not reads_with_none(function)]


def module_named(name: str) -> Any:
    return getattr(backends, name) if name else backends


def own_flags(module: str) -> list[Flag]:
    """Return the flags of the parameters of `flags` and `set_flags`, in PyTorch's order."""
    prefix = f"{module}." if module else ""
    return [BY_NAME[prefix + name] for name in inspect.signature(module_named(module).flags).parameters]


def none_is_ignored(module: str) -> bool:
    """Return whether `set_flags` of the module ignores None; it does not for a required argument."""
    parameters = inspect.signature(module_named(module).set_flags).parameters.values()
    return all(parameter.default is not parameter.empty for parameter in parameters)


def by_attribute(values: dict[str, object]) -> dict[str, Any]:
    """Return values by dotted name as the arguments of a module's `flags`."""
    return {name.rpartition(".")[2]: value for name, value in values.items()}
