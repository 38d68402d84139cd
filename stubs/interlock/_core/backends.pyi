import enum
from collections.abc import Callable, Sequence
from os import PathLike
from types import GenericAlias, ModuleType
from typing import Any, Final, Generic, Literal, Self, TypedDict, TypeVar, final, type_check_only

from interlock._core.accelerator import device
from interlock._core.state import Registration
from interlock.backends._type_variables import Value_co
from typing_extensions import disjoint_base

_Function = TypeVar("_Function", bound=Callable[..., Any])

@type_check_only
class Flag(TypedDict):
    name: str
    reads: str
    accepts: str | None
    allowed: str | None
    allowed_text: str | None
    default: object
    variables: list[str]
    refused_variable: str | None
    affects: str
    obeyed_by: list[str]
    needs_registered_kernel: bool
    doc: str
    validator: str | None
    is_registered: bool
    explained: tuple[str, Any, str, str | None, Any, str | None, str, str | None]

@disjoint_base
class FlagHandle:
    """The flag with this dotted name."""
    def __new__(cls, name: str) -> Self: ...
    @property
    def name(self) -> str:
        """The dotted name."""
    @property
    def value(self) -> Any:
        """The active value in the current context.

        Assigning sets the flag in the innermost open scope that sets it, else for the process.
        `del` unsets the flag.

        Raises:
            FlagTypeError: The value has the wrong type.
            FlagValueError: The flag does not accept the value.
            FlagsFrozenError: Flags are frozen.
            UnknownFlagError: The flag was unregistered.
        """
    @value.setter
    def value(self, value: Any) -> None: ...
    @value.deleter
    def value(self) -> None: ...
    def override(self, value: Any) -> FlagScope:
        """Return a context manager and decorator that sets the flag in the context that enters it.

        Args:
            value: The value.

        Raises:
            FlagTypeError: The value has the wrong type.
            FlagValueError: The flag does not accept the value.
        """

@final
class FlagScope:
    """A context manager and decorator that sets flags in the current context, as `backends.override` and the `flags`
    functions return it. It can be entered again, and on other threads.

    Args:
        values: Values by dotted name of the flag.
        copied: Whether the values are those of another scope; for copies and pickles.

    Raises:
        UnknownFlagError: There is no flag of this name.
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.
    """
    def __new__(cls, values: dict[str, Any], copied: bool = False, /) -> FlagScope: ...
    def __reduce__(self) -> tuple[type[FlagScope], tuple[dict[str, Any], bool]]: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

@final
class FlagArguments:
    """The flags that a module's `flags(...)` sets, in the order of its arguments."""
    def __new__(cls, *names: str) -> FlagArguments: ...
    def scope(self, *values: object) -> FlagScope:
        """Return a scope of these values, one for each flag; None does not set the flag."""

@final
class FreezeScope:
    """A context manager and decorator that freezes flags on all threads, as `backends.frozen` returns it."""
    def __new__(cls) -> FreezeScope: ...
    def __reduce__(self) -> tuple[type[FreezeScope], tuple[()]]: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

def assign(values: dict[str, Any]) -> None:
    """Write several flags without a scope, all or none; `values` maps dotted names to values."""

def read(name: str) -> Any:
    """Return the active value of the flag with this dotted name in the current context."""

def explain(name: str) -> tuple[str, Any, str, str | None, Any, str | None, str, str | None]:
    """Explain a flag: return its dotted name, its value, level, the line or variable that set it or None, the effective
    value, what overrides it or None, and what it affects.
    """

def table(registered: bool = False) -> list[Flag]:
    """Return a row for every flag: `name`; `reads` and `accepts`, the types as Python annotations; `allowed`, a
    description of the accepted values (None, as `accepts` is, for a read-only flag); `default`; `variables` of the
    environment; `affects`; `obeyed_by`, the names of operations; `needs_registered_kernel`, whether only kernels that
    programs register obey it; `doc`; `validator`, the name of a function or None; `is_registered`; `explained`, the result
    of `explain`. Flags of other libraries are included if `registered` is true.
    """

def row(name: str) -> Flag:
    """Return the row of `table` of the flag with this dotted name."""

def register_flag(
    name: str,
    default: object,
    doc: str,
    flag_type: str,
    values: Sequence[object],
    optional: bool,
    variable: str | None,
    affects: str | None,
    enumeration: type[enum.Enum] | None,
    validator: Callable[[Any], object] | None,
    on_change: Callable[[FlagChange], object] | None,
) -> list[tuple[str, Exception]]:
    """Register a flag of another library. `flag_type` is `"bool"`, `"int"`, `"float"`, `"str"`, `"path"` or `"choice"`, or one
    of them after `"list of "`; `values` are the choices or the minimum and maximum; `optional` allows None. `enumeration`
    is the class whose members the choices name, `validator` is called with each value, and `on_change` after each change.
    Returns the values of the environment or of a snapshot that were refused, each as its source and the error.
    """

def unregister_flag(name: str) -> None:
    """Unregister a flag of another library."""

def misspelt_variables(library: str) -> list[tuple[str, str]]:
    """Return the environment variables that are set and resemble those of a library's registered flags, each with the
    reason why it has no effect.
    """

def unset(name: str) -> None:
    """Unset the flag with this dotted name."""

def write_log() -> list[tuple[str, Any, bool, str]]:
    """Return the last writes, oldest first: name, value, whether the flag was unset, `file:line`."""

def snapshot() -> list[tuple[str, Any, str]]:
    """Return the dotted name, the value in the process and the level of every flag."""

def restore(assigned: dict[str, Any]) -> None:
    """Assign these flags for the process and unset all others, all or none. A flag of another library that is not
    registered yet is assigned when it is registered.
    """

def install(assigned: dict[str, Any]) -> None:
    """Like `restore`, but do nothing if exactly these flags are assigned already."""

def reset() -> None:
    """Unset every flag of the process."""

@final
class FlagChange(Generic[Value_co]):
    """A change of flags, as `backends.on_change` reports it."""
    def __class_getitem__(cls, value: object) -> GenericAlias:
        """`FlagChange[int]`, the change of an int flag, for annotations that are evaluated."""
    @property
    def kind(self) -> Literal["write", "enter", "exit"]:
        """`"write"`, or `"enter"` and `"exit"` of a scope."""
    @property
    def name(self) -> str | None:
        """The dotted name of a flag that was written; otherwise None."""
    @property
    def old(self) -> Value_co | None:
        """The value before a write."""
    @property
    def new(self) -> Value_co | None:
        """The value after a write."""
    @property
    def level(self) -> Literal["default", "environment", "process", "scope"] | None:
        """Where a flag was written: `"scope"`, `"process"`, or `"environment"` and `"default"` if it was unset."""
    @property
    def layer(self) -> int | None:
        """Identifies the scope that was entered or has ended, or in which a flag was written."""
    @property
    def values(self) -> dict[str, Any] | None:
        """The flags that an entered scope sets."""

def on_change(callback: Callable[[FlagChange], object], /) -> Registration:
    """Register a function that is called after each change of a flag: a write, or the enter and exit of a scope that sets
    flags, by Python, Rust or C code.

    It is called on the thread that made the change, outside of all locks, so changes of several threads may be reported in
    another order than they were made. Scopes that are open already are not reported. Its exceptions are reported through
    `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the change.

    Args:
        callback: Called with a `FlagChange`.

    Returns:
        The registration. The function is removed by its `remove` method, or at the end of a `with` block.

    Raises:
        TypeError: `callback` is not callable.

    Example:
        >>> from interlock import backends
        >>> with backends.on_change(print):
        ...     backends.cudnn.benchmark = True
        FlagChange(cudnn.benchmark: False -> True)
    """

def epoch() -> int:
    """Return a count that changes with every write of a flag of the process."""

def disable_global_flags() -> None:
    """Freeze flags until the process exits."""

def flags_frozen() -> bool:
    """Return whether flags are frozen."""

def flags_frozen_at() -> str | None:
    """Return the line that froze flags, or None."""

def environment_problems() -> list[tuple[str, str]]:
    """Return the environment variables that could not be parsed, each with the reason."""

def environment_variables() -> list[str]:
    """Return the names of the environment variables that are read, without those of registered flags."""

def get_float32_matmul_precision() -> Literal["highest", "high", "medium"]:
    """Return the precision of float32 matrix products in the current context: the lower one of `cuda.matmul.fp32_precision` and
    `mkldnn.matmul.fp32_precision`.

    Returns:
        "highest", "high" or "medium", see `set_float32_matmul_precision`.
    """

def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None:
    """Set the precision of float32 matrix products: assign `cuda.matmul.fp32_precision` and
    `mkldnn.matmul.fp32_precision`.

    Args:
        precision: "highest" for float32, "high" for tf32, or "medium" for bf16, on cuda tf32.

    Raises:
        FlagTypeError: `precision` is not a str.
        FlagValueError: `precision` is another str.
        FlagsFrozenError: Flags are frozen.

    Example:
        >>> import interlock
        >>> interlock.set_float32_matmul_precision("high")
        >>> interlock.get_float32_matmul_precision()
        'high'
        >>> interlock.set_float32_matmul_precision("highest")
    """

def get_cpu_capability() -> str:
    """Return the widest vector instructions of this CPU that kernels may use: `DEFAULT`, `VSX`, `Z VECTOR`, `AVX2`,
    `AVX512` or `SVE256`.

    The environment variable `ATEN_CPU_CAPABILITY` (`default`, `vsx`, `zvector`, `avx2`, `avx512`, `sve256`) lowers it.
    A value that this CPU does not support, or that is unknown, is ignored with one `FlagEnvironmentWarning`.
    """

def get_num_threads() -> int:
    """Return the number of threads on which an operation may run on the CPU.

    The default is the value of the environment variable `OMP_NUM_THREADS`, else that of `MKL_NUM_THREADS`, else the
    number of CPUs that the process may use.

    Returns:
        The number of threads; the same for all threads of the program.

    Example:
        >>> import interlock
        >>> interlock.get_num_threads() >= 1
        True
    """

def set_num_threads(threads: int, /) -> None:
    """Set the number of threads on which an operation may run on the CPU, for the whole process.

    Matrix products and other large operations use several threads. Results do not depend on their number. An
    operation that is running continues with the number with which it began, and a forked child with that of its
    parent.

    The number is passed to the OpenMP runtimes that are loaded under their own names, and to MKL if it has been called
    before, as by `torch.set_num_threads`; no library is loaded. In an OpenMP runtime it applies to parallel regions of
    the calling thread. A library that is loaded later begins with its own default.

    Args:
        threads: A positive int; 1 runs every operation on the thread that calls it.

    Raises:
        TypeError: `threads` is not an int.
        ArgumentError: `threads` is less than 1 or more than 2**31 - 1.

    Example:
        >>> import interlock
        >>> interlock.set_num_threads(2)
        >>> interlock.get_num_threads()
        2
    """

def library_names() -> list[str]:
    """Return the names of all libraries."""

def library_is_available(name: str) -> bool:
    """Return whether a library is loaded or would be found, without loading it."""

def library_is_loaded(name: str) -> bool:
    """Return whether a library is loaded in this process, by interlock or by other code."""

def library_version(name: str) -> int | None:
    """Return the version number of a library, or None. The first call loads the library."""

def find_library(name: str) -> tuple[str, str, str | None, str | None, bool, str | None]:
    """Return the state of a library without loading it."""

def load_library(
    name: str, path: str | PathLike[str] | None
) -> tuple[str, str, str | None, str | None, bool, str | None]:
    """Load a library, from `path` unless that is None, and return its state."""

def openmp_runtimes() -> list[tuple[str, str, int | None]]:
    """Return the name, path and threads of each OpenMP runtime that is loaded under its own name."""

def plan_cache_index(device: device | str | int) -> int:
    """Return the index of an existing cuda device."""

def current_plan_cache_index() -> int:
    """Return the index of the current cuda device."""

def plan_cache_size(device: device | str | int) -> int:
    """Return the number of plans in the cache."""

def plan_cache_max_size(device: device | str | int) -> int:
    """Return the maximum number of plans."""

def set_plan_cache_max_size(device: device | str | int, plans: int) -> None:
    """Set the maximum number of plans."""

def clear_plan_cache(device: device | str | int) -> None:
    """Remove all plans."""

@disjoint_base
class VerboseScope:
    """A scope in which a vendor library reports its calls."""
    def __new__(cls, name: Literal["mkl", "onednn"], level: int, /) -> Self: ...
    def __enter__(self) -> Self:
        """Set the level; level 0 has no effect. The first call loads the library."""
    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        """End the innermost enter of this scope."""

CLASSES: Final[dict[str, type[Any]]]
"""The class of each module, and of each other owner of flags, by its dotted name below `backends`."""

# <classes of flags>
class BackendsModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    deterministic_algorithms: bool
    """Whether operations run deterministic algorithms, and operations without one are refused. It overrides `deterministic` of each library."""
    deterministic_algorithms_warn_only: bool
    """Whether operations without a deterministic algorithm warn under `deterministic_algorithms`, instead of being refused."""
    deterministic_fill_uninitialized_memory: bool
    """Whether memory that is not initialized is filled under `deterministic_algorithms`: with NaN, the largest integer or True. `utils.deterministic` has it under PyTorch's name."""
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of every backend whose own precision is not set."""

class CpuModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class CudaMatmulFlags:
    """The flags of `backends.cuda.matmul`. Reading one returns its value in the current context; assigning sets it."""
    @property
    def allow_fp16_reduced_precision_reduction(self) -> bool:
        """Whether `matmul` of float16 may accumulate in float16. Accepts a bool, or a tuple whose second item sets whether
        the sum may be split into parts; reads as the first item.
        """
    @allow_fp16_reduced_precision_reduction.setter
    def allow_fp16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    @property
    def allow_bf16_reduced_precision_reduction(self) -> bool:
        """Whether `matmul` of bfloat16 may accumulate in bfloat16. Accepts a bool, or a tuple whose second item sets
        whether the sum may be split into parts; reads as the first item.
        """
    @allow_bf16_reduced_precision_reduction.setter
    def allow_bf16_reduced_precision_reduction(
        self, value: bool | tuple[bool] | tuple[bool, bool] | list[bool], /
    ) -> None: ...
    allow_fp16_accumulation: bool
    """Whether `matmul` of float16 may accumulate in float16 throughout."""
    prefer_cublaslt_grouped_gemm: bool
    """Whether grouped matrix multiplication prefers cuBLASLt to the kernels of the runtime."""
    fp32_precision: Literal["none", "ieee", "tf32", "bfx9"]
    """The float32 precision of matrix products on cuda."""
    allow_tf32: bool
    """Whether matrix products on cuda use TensorFloat-32: an alias of their fp32_precision."""
    @property
    def allow_fp16_reduced_precision_reduction_split_k(self) -> bool:
        """Whether sums of float16 may be split into parts; written with the flag it belongs to."""
    @property
    def allow_bf16_reduced_precision_reduction_split_k(self) -> bool:
        """Whether sums of bfloat16 may be split into parts; written with the flag it belongs to."""

class CudaModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
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
        """The order in which the kernels of scaled-dot-product attention are tried."""
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
    """The library of linear algebra on cuda. `magma` selects kernels that a program registers: interlock has none."""
    @property
    def blas_library(self) -> Literal["default", "cublas", "cublaslt", "ck"]:
        """The library of matrix products on cuda. The default is cuBLAS. `ck` selects the kernel that a program registers
        under this name: interlock has none.
        """
    @blas_library.setter
    def blas_library(
        self, value: Literal["default", "cublas", "cublaslt", "ck", "hipblas", "hipblaslt"], /
    ) -> None: ...
    rocm_fa_library: Literal["default", "aotriton", "ck"]
    """The library of flash attention on ROCm."""
    cublas_workspace: int
    """The size of the cuBLAS workspace of each stream, in bytes. The default is two blocks of 4 MiB and eight of 16 KiB."""
    cublaslt_workspace: int
    """The size of the cuBLASLt workspace of each stream, in bytes."""

class CudnnConvFlags:
    """The flags of `backends.cudnn.conv`. Reading one returns its value in the current context; assigning sets it."""

    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of convolutions on cuda."""

class CudnnModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether operations may run on cuDNN."""
    benchmark: bool
    """Whether cuDNN benchmarks several algorithms and uses the fastest for each shape."""
    benchmark_limit: int
    """The maximum number of algorithms that `benchmark` tries; 0 means all."""
    deterministic: bool
    """Whether cuDNN is restricted to deterministic algorithms."""
    depthwise_kernel: Literal["auto", "cudnn", "native"]
    """The kernel of depthwise convolutions."""
    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of operations on cuda whose own precision is not set."""
    allow_tf32: bool
    """Whether convolutions and recurrent layers on cuda use TensorFloat-32: an alias of their fp32_precision."""

class CudnnRnnFlags:
    """The flags of `backends.cudnn.rnn`. Reading one returns its value in the current context; assigning sets it."""

    fp32_precision: Literal["none", "ieee", "tf32"]
    """The float32 precision of recurrent layers on cuda."""

class CusparseltModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class KleidiaiModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class LibrariesModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MhaModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    fastpath: bool
    """Whether multi-head attention may use its fast path during inference."""

class MiopenModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    immediate: bool
    """Whether MIOpen uses its immediate mode instead of searching for the fastest algorithm."""

class MklModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class MkldnnConvFlags:
    """The flags of `backends.mkldnn.conv`. Reading one returns its value in the current context; assigning sets it."""

    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's convolutions."""

class MkldnnMatmulFlags:
    """The flags of `backends.mkldnn.matmul`. Reading one returns its value in the current context; assigning sets it."""

    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's matrix products."""

class MkldnnModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether operations may run on oneDNN."""
    deterministic: bool
    """Whether oneDNN is restricted to deterministic algorithms."""
    allow_tf32: bool | None
    """Whether oneDNN may use TensorFloat-32 on Intel GPUs; None if it is unspecified."""
    numerics: Literal["hardware", "model"]
    """The arithmetic of float32 `matmul` on the CPU: `model` rounds the inputs as the precision nodes of oneDNN request, and `hardware` computes as the kernels of the machine do."""
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's operations whose own precision is not set."""

class MkldnnRnnFlags:
    """The flags of `backends.mkldnn.rnn`. Reading one returns its value in the current context; assigning sets it."""

    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    """The float32 precision of oneDNN's recurrent layers."""

class MpsModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class NnpackModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether convolutions may run on NNPACK."""

class OpenmpModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...

class OptEinsumModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    enabled: bool
    """Whether the contraction order of an einsum is optimized. Without the package opt_einsum it is left to right."""
    strategy: Literal["auto", "greedy", "optimal"]
    """The strategy that searches the contraction order of an einsum."""

class PythonNativeCutedslFlags:
    """The flags of `backends.python_native.cutedsl`. Reading one returns its value in the current context; assigning sets it."""

    enabled: bool
    """Whether operations may run on kernels that are registered from Python for CuTe DSL."""

class PythonNativeFlydslFlags:
    """The flags of `backends.python_native.flydsl`. Reading one returns its value in the current context; assigning sets it."""

    enabled: bool
    """Whether operations may run on kernels that are registered from Python for FlyDSL."""

class PythonNativeHelionFlags:
    """The flags of `backends.python_native.helion`. Reading one returns its value in the current context; assigning sets it."""

    enabled: bool
    """Whether operations may run on kernels that are registered from Python for Helion."""

class PythonNativeModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    disabled_operations: str
    """The operations that run no kernel that is registered from Python: names with commas between."""
    disabled_dispatch_keys: str
    """The dispatch keys under which operations run no kernel that is registered from Python, such as `CPU` or `CUDA`: names with commas between."""

class PythonNativePythonFlags:
    """The flags of `backends.python_native.python`. Reading one returns its value in the current context; assigning sets it."""

    enabled: bool
    """Whether operations may run on kernels that are registered from Python and written in no other language."""

class PythonNativeTritonFlags:
    """The flags of `backends.python_native.triton`. Reading one returns its value in the current context; assigning sets it."""

    enabled: bool
    """Whether operations may run on kernels that are registered from Python for Triton."""

class QuantizedModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    engine: Literal["native", "onednn", "none"]
    """The engine of quantized operations, one of `supported_engines`."""
    @property
    def supported_engines(self) -> list[str]:
        """The engines for which interlock has kernels of quantized operations, whether or not they can run here: `onednn` needs oneDNN and a CPU with VNNI."""

class XnnpackModule(ModuleType):
    """The class of a module with these flags.

    Args:
        m: A module, whose contents the new module has.
        name: The name of the new module.
    """
    def __init__(self, m: ModuleType, name: str) -> None: ...
    @property
    def enabled(self) -> bool:
        """Whether operations may run on XNNPACK: they never do here."""

__all__ = [
    "BackendsModule",
    "CLASSES",
    "CpuModule",
    "CudaMatmulFlags",
    "CudaModule",
    "CudnnConvFlags",
    "CudnnModule",
    "CudnnRnnFlags",
    "CusparseltModule",
    "FlagArguments",
    "FlagChange",
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
    "PythonNativeCutedslFlags",
    "PythonNativeFlydslFlags",
    "PythonNativeHelionFlags",
    "PythonNativeModule",
    "PythonNativePythonFlags",
    "PythonNativeTritonFlags",
    "QuantizedModule",
    "VerboseScope",
    "XnnpackModule",
    "assign",
    "clear_plan_cache",
    "current_plan_cache_index",
    "disable_global_flags",
    "environment_problems",
    "environment_variables",
    "epoch",
    "explain",
    "find_library",
    "flags_frozen",
    "flags_frozen_at",
    "get_cpu_capability",
    "get_float32_matmul_precision",
    "get_num_threads",
    "install",
    "library_is_available",
    "library_is_loaded",
    "library_names",
    "library_version",
    "load_library",
    "misspelt_variables",
    "on_change",
    "openmp_runtimes",
    "plan_cache_index",
    "plan_cache_max_size",
    "plan_cache_size",
    "read",
    "register_flag",
    "reset",
    "restore",
    "row",
    "set_float32_matmul_precision",
    "set_num_threads",
    "set_plan_cache_max_size",
    "snapshot",
    "table",
    "unregister_flag",
    "unset",
    "write_log",
]
# </classes of flags>
