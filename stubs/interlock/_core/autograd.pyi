from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, SupportsIndex, TypeVar, final, overload, type_check_only

from interlock._core.state import Registration
from typing_extensions import disjoint_base

__all__ = [
    "ModeChange",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "on_change",
    "on_setters",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

@final
class ModeChange:
    """The modes that are set on a thread, before and after a change, as `autograd.on_change` reports it."""
    @property
    def old(self) -> dict[str, bool]:
        """The modes that were set before, by name."""
    @property
    def new(self) -> dict[str, bool]:
        """The modes that are set now, by name."""

def on_change(callback: Callable[[ModeChange], object], /) -> Registration:
    """Register a function that is called on a thread after the modes that are set on it have changed: when a scope or guard is
    entered or exited, a mode is written, or the thread switches to another task or context.

    Only modes that a scope, a write or the process sets are reported, not defaults. The interpreter reports switches from
    Python 3.14; before, they are seen with the next call into interlock, and at each step of a task under `interlock.aio`.
    So before Python 3.14 a function that another thread has given a context, as `asyncio.to_thread` does, reports the modes
    that it sets itself, and not those that the other thread has set: the end of the context would not be reported. They are
    reported in such a task, and where `interlock.Executor` or `apply` has brought values of other libraries.
    After a registration each thread reports the modes that are set on it, as if none had been set before.
    While a function is registered, scopes and reads of modes cost more. Its exceptions are reported through
    `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the change.

    Args:
        callback: Called with a `ModeChange`.

    Returns:
        The registration. The function is removed by its `remove` method, or at the end of a `with` block.

    Raises:
        TypeError: `callback` is not callable.

    Example:
        >>> import interlock
        >>> with interlock.autograd.on_change(print), interlock.no_grad():
        ...     pass
        ModeChange({} -> {'grad': False})
        ModeChange({'grad': False} -> {})
    """

def on_setters(callback: Callable[[dict[str, list[tuple[int, bool]]]], object], /) -> Registration:
    """Register a function as `on_change` does, which is called also where a scope that sets a mode to the value that it has is
    entered or exited.

    Args:
        callback: Called with a dict from the name of each mode that is set to what sets it, outermost first: pairs of a number
            and the value. The number is unique in the process; 0 stands for writes and the process.

    Returns:
        The registration.

    Raises:
        TypeError: `callback` is not callable.
    """

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
    """Disable the recording of the autograd graph in the current context.

    A context manager and a decorator, with or without parentheses. Other threads, including new ones,
    are not affected.

    Args:
        orig_func: The function, if used as a decorator without parentheses. The result is then a function.

    Raises:
        TypeError: `orig_func` is not a function.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with interlock.no_grad():
        ...     (x * 2).requires_grad
        False
    """
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class enable_grad(_BareScope):
    """Enable the recording of the autograd graph in the current context, also inside `no_grad`.

    A context manager and a decorator, with or without parentheses. Inference mode is not changed.

    Args:
        orig_func: The function, if used as a decorator without parentheses. The result is then a function.

    Raises:
        TypeError: `orig_func` is not a function.

    Example:
        >>> import interlock
        >>> with interlock.no_grad(), interlock.enable_grad():
        ...     interlock.is_grad_enabled()
        True
    """
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Function) -> _Function: ...  # type: ignore[misc]

@disjoint_base
class set_grad_enabled(_Scope):
    """Enable or disable the recording of the autograd graph in the current context.

    A function, a context manager and a decorator. As a function it changes the innermost open scope that
    sets the mode, and ends with that scope. Without such a scope it lasts for the context, in a task
    for the task; `interlock.state.set_process_defaults` sets the mode for all contexts.

    Args:
        mode: Whether operations are recorded.

    Raises:
        TypeError: `mode` is not a bool.

    Example:
        >>> import interlock
        >>> with interlock.set_grad_enabled(False):
        ...     interlock.is_grad_enabled()
        False
    """
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool:
        """The mode that the object sets."""

@disjoint_base
class inference_mode(_BareMode):
    """Enable or disable inference mode in the current context.

    Tensors that are created inside are inference tensors: they record neither the autograd graph
    nor their version, and cannot be used where gradients are recorded. `inference_mode(False)`
    inside disables it again.

    A context manager and a decorator, with or without parentheses.

    Args:
        mode: Whether inference mode is enabled, or the function to decorate.

    Raises:
        TypeError: `mode` is neither a bool nor a function.

    Example:
        >>> import interlock
        >>> with interlock.inference_mode():
        ...     interlock.ones(2).is_inference()
        True
    """
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _Function) -> _Function: ...  # type: ignore[misc]
    @property
    def mode(self) -> bool:
        """The mode that the object sets."""

@disjoint_base
class set_multithreading_enabled(_Scope):
    """Allow or forbid a backward pass to use threads other than the calling one.

    interlock's own engine always uses the calling thread. A function, a context manager and a
    decorator.

    Args:
        mode: Whether other threads may be used.

    Raises:
        TypeError: `mode` is not a bool.

    Example:
        >>> import interlock
        >>> with interlock.set_multithreading_enabled(False):
        ...     interlock.autograd.is_multithreading_enabled()
        False
    """
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool:
        """The mode that the object sets."""

@disjoint_base
class _force_original_view_tracking(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class enforce_grad_layout_policy(_Scope):
    """Enable or disable converting an accumulated gradient to the layout of its tensor.

    A function, a context manager and a decorator.

    Args:
        enable: Whether gradients are converted.

    Raises:
        TypeError: `enable` is not a bool.
    """
    def __init__(self, enable: bool = True) -> None: ...
    @property
    def mode(self) -> bool:
        """The mode that the object sets."""

@disjoint_base
class _anomaly_mode(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

@disjoint_base
class _anomaly_check_nan(_Scope):
    def __init__(self, mode: bool) -> None: ...
    @property
    def mode(self) -> bool: ...

def is_anomaly_enabled() -> bool:
    """Return whether anomalies are detected in the current context; see `interlock.autograd.detect_anomaly`.

    Example:
        >>> import interlock
        >>> with interlock.autograd.detect_anomaly():
        ...     interlock.is_anomaly_enabled()
        True
    """

def is_anomaly_check_nan_enabled() -> bool:
    """Return whether the detection of anomalies checks gradients for NaN.

    Example:
        >>> import interlock
        >>> with interlock.autograd.detect_anomaly(check_nan=False):
        ...     interlock.is_anomaly_check_nan_enabled()
        False
    """

def is_grad_enabled() -> bool:
    """Return whether operations record the autograd graph in the current context.

    Example:
        >>> import interlock
        >>> with interlock.no_grad():
        ...     interlock.is_grad_enabled()
        False
    """

def is_inference_mode_enabled() -> bool:
    """Return whether tensors that are created in the current context are inference tensors.

    Example:
        >>> import interlock
        >>> with interlock.inference_mode():
        ...     interlock.is_inference_mode_enabled()
        True
    """

def is_multithreading_enabled() -> bool:
    """Return whether a backward pass may use other threads; see `set_multithreading_enabled`."""

def is_view_replay_enabled() -> bool:
    """Return whether views are tracked by replaying the operation that created them."""
