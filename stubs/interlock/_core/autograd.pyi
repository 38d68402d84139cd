from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar, overload

__all__ = [
    "_force_original_view_tracking",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

class _Scope:
    @property
    def prev(self) -> bool: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...
    def clone(self) -> Self: ...

class no_grad(_Scope):
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

class enable_grad(_Scope):
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

class set_grad_enabled(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

class inference_mode(_Scope):
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _Function) -> _Function: ...  # type: ignore[misc]
    @property
    def mode(self) -> bool: ...

class set_multithreading_enabled(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

class _force_original_view_tracking(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

class enforce_grad_layout_policy(_Scope):
    def __init__(self, enable: bool = True) -> None: ...
    @property
    def mode(self) -> bool: ...

def is_grad_enabled() -> bool: ...
def is_inference_mode_enabled() -> bool: ...
