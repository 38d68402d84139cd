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
    """Operations inside do not record what a backward pass needs.

    A context manager and a decorator, with or without parentheses. It holds for the thread that
    enters it; other threads and new ones are not affected.
    """
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class enable_grad(_BareScope):
    """Operations inside record what a backward pass needs, also within `no_grad`.

    A context manager and a decorator, with or without parentheses. It holds for the thread that
    enters it. Inference mode stays on where it is on.
    """
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class set_grad_enabled(_Scope):
    """Records gradients or not: as a function at once, as a context manager inside, as a decorator
    during each call.

    As a function it lasts as long as the innermost scope of this thread that decides the mode, or
    for the thread. `mode` is a bool.
    """
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool:
        """What the object was told."""

@disjoint_base
class inference_mode(_BareMode):
    """Tensors made inside are inference tensors: they record nothing, not even their version, and
    can't be used where gradients are recorded.

    `inference_mode(False)` inside it is ordinary again. A context manager and a decorator, with or
    without parentheses. `mode` is a bool.
    """
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _Function) -> _Function: ...  # type: ignore[misc]
    @property
    def mode(self) -> bool:
        """What the object was told."""

@disjoint_base
class set_multithreading_enabled(_Scope):
    """Lets a backward pass use other threads, or keeps it on the thread that calls it.

    interlock's own engine keeps to that thread in any case. A function, a context manager and a
    decorator. `mode` is a bool.
    """
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool:
        """What the object was told."""

@disjoint_base
class _force_original_view_tracking(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class enforce_grad_layout_policy(_Scope):
    """Brings a gradient into the layout of its tensor when it is accumulated, or leaves it.

    A function, a context manager and a decorator. `enable` is a bool.
    """
    def __init__(self, enable: bool = True) -> None: ...
    @property
    def mode(self) -> bool:
        """What the object was told."""

def is_grad_enabled() -> bool:
    """Whether operations of this thread record what a backward pass needs."""

def is_inference_mode_enabled() -> bool:
    """Whether tensors made by this thread are inference tensors."""

def is_multithreading_enabled() -> bool:
    """Return whether a backward pass of this thread may use other threads; see `set_multithreading_enabled`."""

def is_view_replay_enabled() -> bool:
    """Return whether views of this thread are tracked by replaying the operation that made them."""
