from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, SupportsIndex, TypeVar, overload, type_check_only

from typing_extensions import disjoint_base

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

@type_check_only
class _Scope:
    @property
    def prev(self) -> bool: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> str | tuple[Any, ...]: ...
    def __getstate__(self) -> tuple[bool, dict[str, Any] | None]: ...
    def __setstate__(self, state: tuple[bool, dict[str, Any] | None], /) -> None: ...
    def clone(self) -> Self: ...

# `__new__` determines the accepted arguments; `__init__` is declared because a subclass may call it.
@type_check_only
class _BareScope(_Scope):
    def __init__(self, orig_func: object = None) -> None: ...

@type_check_only
class _BareMode(_Scope):
    def __init__(self, mode: object = True) -> None: ...

@disjoint_base
class no_grad(_BareScope):
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class enable_grad(_BareScope):
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class set_grad_enabled(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class inference_mode(_BareMode):
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _Function) -> _Function: ...  # type: ignore[misc]
    @property
    def mode(self) -> bool: ...

@disjoint_base
class set_multithreading_enabled(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class _force_original_view_tracking(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class enforce_grad_layout_policy(_Scope):
    def __init__(self, enable: bool = True) -> None: ...
    @property
    def mode(self) -> bool: ...

def is_grad_enabled() -> bool: ...
def is_inference_mode_enabled() -> bool: ...
def is_multithreading_enabled() -> bool: ...
def is_view_replay_enabled() -> bool: ...
