from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Literal, TypedDict, TypeVar, final, type_check_only

_Function = TypeVar("_Function", bound=Callable[..., Any])

@type_check_only
class Flag(TypedDict):
    name: str
    reads: str
    takes: str | None
    default: object
    variables: list[str]
    acts_on: str
    doc: str

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
def explain(name: str) -> tuple[Any, str, str | None, str]: ...
def table() -> list[Flag]: ...
def snapshot() -> list[tuple[str, Any, str]]: ...
def restore(assigned: dict[str, Any]) -> None: ...
def reset() -> None: ...
def epoch() -> int: ...
def disable_global_flags() -> None: ...
def flags_frozen() -> bool: ...
def environment_problems() -> list[tuple[str, str]]: ...
def get_float32_matmul_precision() -> Literal["highest", "high", "medium"]: ...
def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None: ...

# <classes of flags>
class BackendsModule(ModuleType):
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

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

class CudaModule(ModuleType): ...

class CudnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]

class CudnnModule(ModuleType):
    enabled: bool
    benchmark: bool
    benchmark_limit: int
    deterministic: bool
    depthwise_kernel: Literal["auto", "cudnn", "native"]
    fp32_precision: Literal["none", "ieee", "tf32"]
    allow_tf32: bool

class CudnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32"]

class MkldnnConvFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnMatmulFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnModule(ModuleType):
    enabled: bool
    deterministic: bool
    allow_tf32: bool | None
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnRnnFlags:
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

__all__ = [
    "BackendsModule",
    "CudaMatmulFlags",
    "CudaModule",
    "CudnnConvFlags",
    "CudnnModule",
    "CudnnRnnFlags",
    "FlagArguments",
    "FlagScope",
    "FreezeScope",
    "MkldnnConvFlags",
    "MkldnnMatmulFlags",
    "MkldnnModule",
    "MkldnnRnnFlags",
    "assign",
    "disable_global_flags",
    "environment_problems",
    "epoch",
    "explain",
    "flags_frozen",
    "get_float32_matmul_precision",
    "read",
    "reset",
    "restore",
    "set_float32_matmul_precision",
    "snapshot",
    "table",
]
# </classes of flags>
