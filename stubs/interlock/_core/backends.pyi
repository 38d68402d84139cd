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
    """The flag with this dotted name."""
    def __new__(cls, name: str) -> Self: ...
    @property
    def name(self) -> str:
        """The dotted name."""
    @property
    def value(self) -> Any:
        """The value in force on this thread.

        An assignment is for the process, or for the scope that decides the flag on this thread, and ends with
        it; `del` drops what is assigned. Raises `FlagTypeError` or `FlagValueError` for a value that does not
        fit, `FlagsFrozenError` while flags are frozen.
        """
    @value.setter
    def value(self, value: Any) -> None: ...
    @value.deleter
    def value(self) -> None: ...
    def override(self, value: Any) -> FlagScope:
        """Decide the flag for this thread: a context manager and a decorator."""

@final
class FlagScope:
    """Flags that hold for this thread while the scope is open; also a decorator."""
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
    """The flags that a module's own `flags(...)` decides, in the order of its arguments."""
    def __new__(cls, *names: str) -> FlagArguments: ...
    def scope(self, *values: object) -> FlagScope:
        """Returns a scope of these values, one for each flag; None leaves a flag undecided."""

@final
class FreezeScope:
    """No flag is written while the scope is open, by any thread; also a decorator."""
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

def assign(values: dict[str, Any]) -> None:
    """Writes several flags without a scope, all or none; `values` maps dotted names to values."""

def read(name: str) -> Any:
    """The value of the flag with this dotted name, as it is in force on this thread."""

def explain(name: str) -> tuple[Any, str, str | None, Any, str | None, str]:
    """Value, level, who said so or None, what operations obey, what overrules it or None, and what it acts on."""

def table(registered: bool = False) -> list[Flag]:
    """What the table says of every flag: `name`; `reads` and `takes`, the types as a stub writes them; `allowed`, what
    may be written in words (None, as `takes` is, for what can only be read); `default`; `variables` of the
    environment; `acts_on`; `doc`. Flags of other libraries are left out unless `registered` is set.
    """

def register_flag(
    name: str,
    default: object,
    doc: str,
    takes: str,
    values: Sequence[object],
    optional: bool,
    variable: str | None,
    acts_on: str | None,
) -> list[tuple[str, str]]:
    """Adds a flag of another library. `takes` is a type (`"bool"`, `"int"`, `"float"`, `"str"`, `"choice"`) with the
    choices or the smallest and largest value; `optional` says whether None is allowed, too. Returns the environment
    variables that were not understood, each with the reason.
    """

def misspelt_variables(library: str) -> list[tuple[str, str]]:
    """The variables of the environment that are set and nearly those of a library's registered flags, each with the
    reason why it counts for nothing.
    """

def drop_assigned(name: str) -> None:
    """Drops what is assigned to the flag with this dotted name."""

def written() -> list[tuple[str, Any, bool, str]]:
    """The last writes, the oldest first: name, value, whether what was assigned was dropped, `file:line`."""

def snapshot() -> list[tuple[str, Any, str]]:
    """Of every flag: dotted name, what the process holds, level."""

def restore(assigned: dict[str, Any]) -> None:
    """Assigns these flags for the process and drops what else is assigned, all or nothing. A flag of another
    library that is not registered yet gets its value when it is.
    """

def install(assigned: dict[str, Any]) -> None:
    """The same, and nothing where exactly these are assigned already."""

def reset() -> None:
    """Drops whatever is assigned for the process."""

def epoch() -> int:
    """How often a flag of the process has changed."""

def disable_global_flags() -> None:
    """Stops every write of a flag for the rest of the process."""

def flags_frozen() -> bool:
    """Whether writes of flags are stopped."""

def environment_problems() -> list[tuple[str, str]]:
    """The environment variables whose value was not understood, each with the reason."""

def environment_variables() -> list[str]:
    """The names of the environment variables that are read, without those of registered flags."""

def get_float32_matmul_precision() -> Literal["highest", "high", "medium"]:
    """`highest`, `high` or `medium`: the lower of what the two matmul nodes read."""

def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None:
    """Holds a precision on both matmul nodes."""

def get_cpu_capability() -> str:
    """The widest vector instructions of this CPU that kernels may use: `DEFAULT`, `VSX`, `Z VECTOR`, `AVX2`,
    `AVX512` or `SVE256`.

    The environment variable `ATEN_CPU_CAPABILITY` (`default`, `vsx`, `zvector`, `avx2`, `avx512`,
    `sve256`) lowers it. A value that this CPU does not have, or that names nothing, is ignored with one
    `FlagEnvironmentWarning`.
    """

def library_names() -> list[str]:
    """The names of all libraries that can be asked for."""

def library_is_available(name: str) -> bool:
    """Whether a library is loaded or would be found; looking does not load it."""

def library_is_loaded(name: str) -> bool:
    """Whether a library is in this process, whoever loaded it."""

def library_version(name: str) -> int | None:
    """What a library answers when it is asked for its version, in its own counting, or None. The first call
    loads it.
    """

def find_library(name: str) -> tuple[str, str, str | None, str | None, bool, str | None]:
    """What is known of a library without loading it."""

def load_library(
    name: str, path: str | PathLike[str] | None
) -> tuple[str, str, str | None, str | None, bool, str | None]:
    """Loads a library, from `path` if that is given, and tells what is known of it then."""

def openmp_runtimes() -> list[tuple[str, str, int | None]]:
    """Name, path and threads of each OpenMP runtime that is loaded under its own name."""

def plan_cache_index(device: device | str | int) -> int:
    """The index of a cuda device that is there."""

def current_plan_cache_index() -> int:
    """The index of the current cuda device."""

def plan_cache_size(device: device | str | int) -> int:
    """How many plans it holds."""

def plan_cache_max_size(device: device | str | int) -> int:
    """How many plans it keeps at most."""

def set_plan_cache_max_size(device: device | str | int, plans: int) -> None:
    """Says how many plans it keeps at most."""

def clear_plan_cache(device: device | str | int) -> None:
    """Drops the plans that it holds."""

@final
class VerboseScope:
    """Has a vendor library report its calls between `enter` and `leave`."""
    def __new__(cls, name: Literal["mkl", "onednn"], level: int, /) -> VerboseScope: ...
    def __reduce__(self) -> tuple[type[VerboseScope], tuple[str, int]]: ...
    def enter(self) -> None:
        """Sets the level; level 0 does nothing. The first call loads the library."""
    def leave(self) -> None:
        """Ends what this scope began last."""

# <classes of flags>
class BackendsModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    deterministic_algorithms: bool
    """Whether operations that have a deterministic form run in that, and others are refused. It decides what `deterministic` of each library comes to, whatever that holds itself."""
    deterministic_algorithms_warn_only: bool
    """Whether operations without a deterministic form warn under `deterministic_algorithms`, instead of being refused."""
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of every backend that holds none of its own."""

class CpuModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class CudaMatmulFlags:
    @property
    def allow_fp16_reduced_precision_reduction(self) -> bool:
        """Whether float16 products may sum in float16. Written as a bool, or as a tuple whose second
        item says whether the sum may be split into parts; reads as the first.
        """
    @allow_fp16_reduced_precision_reduction.setter
    def allow_fp16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    @property
    def allow_bf16_reduced_precision_reduction(self) -> bool:
        """Whether bfloat16 products may sum in bfloat16. Written as a bool, or as a tuple whose second
        item says whether the sum may be split into parts; reads as the first.
        """
    @allow_bf16_reduced_precision_reduction.setter
    def allow_bf16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    allow_fp16_accumulation: bool
    """Whether float16 products may accumulate in float16 throughout."""
    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of matrix products on cuda."""
    allow_tf32: bool
    """Whether matrix products on cuda use TensorFloat-32: a view of their fp32_precision."""
    @property
    def allow_fp16_reduced_precision_reduction_split_k(self) -> bool:
        """Whether the sums of float16 products may be split into parts; written with the flag it belongs to."""
    @property
    def allow_bf16_reduced_precision_reduction_split_k(self) -> bool:
        """Whether the sums of bfloat16 products may be split into parts; written with the flag it belongs to."""

class CudaModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    flash_sdp: bool
    """Whether scaled-dot-product attention may run on the flash kernel."""
    mem_efficient_sdp: bool
    """Whether scaled-dot-product attention may run on the memory-efficient kernel."""
    math_sdp: bool
    """Whether scaled-dot-product attention may run as plain matrix products."""
    cudnn_sdp: bool
    """Whether scaled-dot-product attention may run on cuDNN."""
    fp16_bf16_reduction_math_sdp: bool
    """Whether scaled-dot-product attention that runs as plain matrix products may sum float16 and bfloat16 in these types."""
    @property
    def sdp_priority(
        self,
    ) -> tuple[
        Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"], ...
    ]:
        """In which order the kernels of scaled-dot-product attention are tried."""
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
    """Which library serves linear algebra on cuda."""
    @property
    def blas_library(self) -> Literal["default", "cublas", "cublaslt", "ck"]:
        """Which library serves matrix products on cuda. The default is cuBLAS."""
    @blas_library.setter
    def blas_library(
        self, value: Literal["default", "cublas", "cublaslt", "ck", "hipblas", "hipblaslt"], /
    ) -> None: ...
    rocm_fa_library: Literal["default", "aotriton", "ck"]
    """Which library serves flash attention on ROCm."""
    cublas_workspace: int
    """How many bytes of working memory cuBLAS gets for each stream. The default is two pieces of 4 MiB and eight of 16 KiB."""
    cublaslt_workspace: int
    """How many bytes of working memory cuBLASLt gets for each stream."""

class CudnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of convolutions on cuda."""

class CudnnModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether operations may run on cuDNN."""
    benchmark: bool
    """Whether cuDNN tries several algorithms and keeps the fastest for each shape."""
    benchmark_limit: int
    """How many algorithms `benchmark` tries at most; 0 means all."""
    deterministic: bool
    """Whether cuDNN is restricted to algorithms that give the same bits every time."""
    depthwise_kernel: Literal["auto", "cudnn", "native"]
    """Which kernel serves a depthwise convolution."""
    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of operations on cuda that hold none of their own."""
    allow_tf32: bool
    """Whether convolutions and recurrent layers on cuda use TensorFloat-32: a view of their fp32_precision."""

class CudnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of recurrent layers on cuda."""

class CusparseltModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class KleidiaiModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class LibrariesModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MhaModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    fastpath: bool
    """Whether layers of multi-head attention may take their fast path while they only infer."""

class MiopenModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    immediate: bool
    """Whether MIOpen takes the first algorithm that works instead of looking for the fastest."""

class MklModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MkldnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's convolutions."""

class MkldnnMatmulFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's matrix products."""

class MkldnnModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether operations may run on oneDNN."""
    deterministic: bool
    """Whether oneDNN is restricted to algorithms that give the same bits every time."""
    allow_tf32: bool | None
    """Whether oneDNN may use TensorFloat-32 on Intel GPUs; None while nobody has said."""
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's operations that hold none of their own."""

class MkldnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's recurrent layers."""

class MpsModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class NnpackModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether convolutions may run on NNPACK."""

class OpenmpModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...

class OptEinsumModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether the order of an einsum's products is looked for; without the package opt_einsum they are made from left to right."""
    strategy: Literal["auto", "greedy", "optimal"]
    """How the order of an einsum's products is looked for."""

class QuantizedModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    engine: Literal["none"]
    """Which engine runs quantized operations; of those that `supported_engines` names."""
    @property
    def supported_engines(self) -> list[str]:
        """The engines that can run quantized operations here."""

class XnnpackModule(ModuleType):
    """A module called `name` that has what the module `m` has, and these flags."""
    def __init__(self, m: ModuleType, name: str) -> None: ...
    @property
    def enabled(self) -> bool:
        """Whether operations may run on XNNPACK: they never do here."""

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
