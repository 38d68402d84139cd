from collections.abc import Callable, Sequence
from os import PathLike
from types import ModuleType, TracebackType
from typing import Any, Literal, Self, TypedDict, TypeVar, final, type_check_only

from interlock._core.accelerator import device
from typing_extensions import disjoint_base

_Function = TypeVar("_Function", bound=Callable[..., Any])

@type_check_only
class Flag(TypedDict):
    name: str
    reads: str
    takes: str | None
    allowed: str | None
    default: object
    variables: list[str]
    acts_on: str
    doc: str

@disjoint_base
class FlagHandle:
    def __new__(cls, name: str) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @value.setter
    def value(self, value: Any) -> None: ...
    @value.deleter
    def value(self) -> None: ...
    def override(self, value: Any) -> FlagScope: ...

@final
class FlagScope:
    def __new__(cls, values: dict[str, Any], copied: bool = False, /) -> FlagScope: ...
    def __reduce__(self) -> tuple[type[FlagScope], tuple[dict[str, Any], bool]]: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

@final
class FlagArguments:
    def __new__(cls, *names: str) -> FlagArguments: ...
    def scope(self, *values: object) -> FlagScope: ...

@final
class FreezeScope:
    def __new__(cls) -> FreezeScope: ...
    def __reduce__(self) -> tuple[type[FreezeScope], tuple[()]]: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

def assign(values: dict[str, Any]) -> None: ...
def read(name: str) -> Any: ...
def explain(name: str) -> tuple[Any, str, str | None, Any, str | None, str]: ...
def table(registered: bool = False) -> list[Flag]: ...
def register_flag(
    name: str,
    default: object,
    doc: str,
    takes: str,
    values: Sequence[object],
    optional: bool,
    variable: str | None,
    acts_on: str | None,
) -> list[tuple[str, str]]: ...
def misspelt_variables(library: str) -> list[tuple[str, str]]: ...
def drop_assigned(name: str) -> None: ...
def written() -> list[tuple[str, Any, bool, str]]: ...
def snapshot() -> list[tuple[str, Any, str]]: ...
def restore(assigned: dict[str, Any]) -> None: ...
def install(assigned: dict[str, Any]) -> None: ...
def reset() -> None: ...
def epoch() -> int: ...
def disable_global_flags() -> None: ...
def flags_frozen() -> bool: ...
def environment_problems() -> list[tuple[str, str]]: ...
def environment_variables() -> list[str]: ...
def get_float32_matmul_precision() -> Literal["highest", "high", "medium"]: ...
def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None: ...
def get_cpu_capability() -> str: ...
def library_names() -> list[str]: ...
def library_is_available(name: str) -> bool: ...
def library_is_loaded(name: str) -> bool: ...
def library_version(name: str) -> int | None: ...
def find_library(name: str) -> tuple[str, str, str | None, str | None, bool, str | None]: ...
def load_library(
    name: str, path: str | PathLike[str] | None
) -> tuple[str, str, str | None, str | None, bool, str | None]: ...
def openmp_runtimes() -> list[tuple[str, str, int | None]]: ...
def plan_cache_index(device: device | str | int) -> int: ...
def current_plan_cache_index() -> int: ...
def plan_cache_size(device: device | str | int) -> int: ...
def plan_cache_max_size(device: device | str | int) -> int: ...
def set_plan_cache_max_size(device: device | str | int, plans: int) -> None: ...
def clear_plan_cache(device: device | str | int) -> None: ...

@final
class VerboseScope:
    def __new__(cls, name: Literal["mkl", "onednn"], level: int, /) -> VerboseScope: ...
    def __reduce__(self) -> tuple[type[VerboseScope], tuple[str, int]]: ...
    def enter(self) -> None: ...
    def leave(self) -> None: ...

# <classes of flags>
class BackendsModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    deterministic_algorithms: bool
    deterministic_algorithms_warn_only: bool
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class CpuModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class CudaMatmulFlags:
    @property
    def allow_fp16_reduced_precision_reduction(self) -> bool: ...
    @allow_fp16_reduced_precision_reduction.setter
    def allow_fp16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    @property
    def allow_bf16_reduced_precision_reduction(self) -> bool: ...
    @allow_bf16_reduced_precision_reduction.setter
    def allow_bf16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    allow_fp16_accumulation: bool
    fp32_precision: Literal["none", "ieee", "tf32"]
    allow_tf32: bool
    @property
    def allow_fp16_reduced_precision_reduction_split_k(self) -> bool: ...
    @property
    def allow_bf16_reduced_precision_reduction_split_k(self) -> bool: ...

class CudaModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    flash_sdp: bool
    mem_efficient_sdp: bool
    math_sdp: bool
    cudnn_sdp: bool
    fp16_bf16_reduction_math_sdp: bool
    @property
    def sdp_priority(
        self,
    ) -> tuple[
        Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"], ...
    ]: ...
    @sdp_priority.setter
    def sdp_priority(
        self,
        value: tuple[
            Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"], ...
        ]
        | list[Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"]],
        /,
    ) -> None: ...
    linalg_library: Literal["default", "cusolver", "magma"]
    @property
    def blas_library(self) -> Literal["default", "cublas", "cublaslt", "ck"]: ...
    @blas_library.setter
    def blas_library(
        self, value: Literal["default", "cublas", "cublaslt", "ck", "hipblas", "hipblaslt"], /
    ) -> None: ...
    rocm_fa_library: Literal["default", "aotriton", "ck"]
    cublas_workspace: int
    cublaslt_workspace: int

class CudnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]

class CudnnModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    benchmark: bool
    benchmark_limit: int
    deterministic: bool
    depthwise_kernel: Literal["auto", "cudnn", "native"]
    fp32_precision: Literal["none", "ieee", "tf32"]
    allow_tf32: bool

class CudnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]

class CusparseltModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class KleidiaiModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class LibrariesModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MhaModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    fastpath: bool

class MiopenModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    immediate: bool

class MklModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MkldnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnMatmulFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    deterministic: bool
    allow_tf32: bool | None
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MpsModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class NnpackModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool

class OpenmpModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...

class OptEinsumModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    strategy: Literal["auto", "greedy", "optimal"]

class QuantizedModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    engine: Literal["none"]
    @property
    def supported_engines(self) -> list[str]: ...

class XnnpackModule(ModuleType):
    def __init__(self, m: ModuleType, name: str) -> None: ...
    @property
    def enabled(self) -> bool: ...

__all__ = [
    "BackendsModule",
    "CpuModule",
    "CudaMatmulFlags",
    "CudaModule",
    "CudnnConvFlags",
    "CudnnModule",
    "CudnnRnnFlags",
    "CusparseltModule",
    "FlagArguments",
    "FlagHandle",
    "FlagScope",
    "FreezeScope",
    "KleidiaiModule",
    "LibrariesModule",
    "MhaModule",
    "MiopenModule",
    "MklModule",
    "MkldnnConvFlags",
    "MkldnnMatmulFlags",
    "MkldnnModule",
    "MkldnnRnnFlags",
    "MpsModule",
    "NnpackModule",
    "OpenmpModule",
    "OptEinsumModule",
    "QuantizedModule",
    "VerboseScope",
    "XnnpackModule",
    "assign",
    "clear_plan_cache",
    "current_plan_cache_index",
    "disable_global_flags",
    "drop_assigned",
    "environment_problems",
    "environment_variables",
    "epoch",
    "explain",
    "find_library",
    "flags_frozen",
    "get_cpu_capability",
    "get_float32_matmul_precision",
    "install",
    "library_is_available",
    "library_is_loaded",
    "library_names",
    "library_version",
    "load_library",
    "misspelt_variables",
    "openmp_runtimes",
    "plan_cache_index",
    "plan_cache_max_size",
    "plan_cache_size",
    "read",
    "register_flag",
    "reset",
    "restore",
    "set_float32_matmul_precision",
    "set_plan_cache_max_size",
    "snapshot",
    "table",
    "written",
]
# </classes of flags>
