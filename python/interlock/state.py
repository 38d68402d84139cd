"""Captures state and applies it elsewhere, and sets defaults of the process.

A scope belongs to the current context (`contextvars`): asyncio tasks, `asyncio.to_thread` and everything else
that copies the context see it; threads that begin with an empty context have the defaults of the process.

With `INTERLOCK_DEBUG=1` in the environment, `ScopeWarning` reports scopes that are open in suspended
generators and scopes that are exited out of order or in another context or thread. When the process ends, it
also reports scopes that are still open or that were open when their thread or context ended.
"""

from __future__ import annotations

import atexit
import enum
import functools
import sys
import warnings
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, cast, final

from interlock._arguments import as_bool
from interlock._core import state as _native
from interlock._core.accelerator import device as _device
from interlock._core.state import (
    TRACED,
    Registration,
    ScopeBarrier,
    StateScope,
    end_open_scopes,
    open_scopes,
    register_carried,
)
from interlock._features import attribute_error
from interlock._lazy import list_exports
from interlock._quote import shown
from interlock._scope_decorator import check_plain, decorate
from interlock.errors import ScopeWarning

if TYPE_CHECKING:
    from interlock._executor import Executor as Executor

__all__ = [
    "Executor",
    "Registration",
    "StateScope",
    "ThreadState",
    "capture",
    "end_open_scopes",
    "open_scopes",
    "process_defaults",
    "register_carried",
    "scope_barrier",
    "set_process_defaults",
]

_Arguments = ParamSpec("_Arguments")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")


@final
class ThreadState(_native.ThreadState):
    """An immutable copy of the state of a context: gradient modes, flag scopes, current device and streams.

    It can be applied anywhere, any number of times. `capture` returns the state of the current context.

    Args:
        pin: Whether to capture the values of all flags, as for `capture`.

    Raises:
        TypeError: `pin` is not a bool.

    Example:
        >>> import interlock
        >>> with interlock.no_grad():
        ...     state = interlock.capture()
        >>> interlock.is_grad_enabled(), state.run(interlock.is_grad_enabled)
        (True, False)

    """

    __slots__ = ()

    # Implemented in Python so that no Rust frame is below the call on the stack: the interpreter ends
    # a daemon thread by unwinding its stack, and Rust aborts the process if that unwinds Rust frames.
    def run(
        self,
        function: Callable[_Arguments, _Result],
        /,
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> _Result:
        """Apply the state, call `function` with the arguments, and return its result.

        Args:
            function: The function to call. A coroutine or generator that a plain function returns runs
                without the state.
            arguments: Positional arguments of the function.
            named: Keyword arguments of the function.

        Raises:
            TypeError: `function` is not callable, or is a coroutine function or generator function, whose
                body would run without the state: call the result of `wrap` instead.

        """
        if not callable(function):
            raise TypeError(f"run: function must be callable, got {type(function).__name__}")
        check_plain(
            "run: function", function, "its body would run without the state; call the result of wrap instead"
        )
        with self.apply():
            return function(*arguments, **named)

    def wrap(self, function: _Function, /) -> _Function:
        """Wrap a function so that the state is active during each call, on any thread.

        Args:
            function: A function. If it is a generator function, a coroutine function or an asynchronous
                generator function, the state is active during each step of its result.

        Returns:
            The wrapped function. It can be pickled if `function` can be, or if it replaces `function` in its
            module; the state is pickled as plain data, without current streams, hooks and recordings.

        Raises:
            TypeError: `function` is not callable.

        """
        given: Any = function
        if not callable(given) and not isinstance(given, classmethod):
            raise TypeError(f"wrap: function must be callable, got {type(given).__name__}")
        return _wrapped(self.apply(), function)


class _Wrapped(functools.partial[Any]):
    """A function that `ThreadState.wrap` returns; it can be pickled.

    `inspect` and asyncio treat a `partial` as the function that it calls.
    """

    __qualname__: str

    def __new__(cls, function: FunctionType, _scope: StateScope, _given: Callable[..., Any]) -> Self:
        return super().__new__(cls, function)

    def __init__(self, function: FunctionType, scope: StateScope, given: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        # Not the state, which would be a second owner of its hooks: the collector visits hooks of one owner.
        self._scope = scope
        self._given = given

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        found: object = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        if found is not self._given:
            raise TypeError(
                f"wrap: the result of wrapping {shown(self.__qualname__)} cannot be pickled, because the "
                f"module {shown(self.__module__)} has no such function; define it there"
            )
        return _wrapped, (self._scope, self._given)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


def _wrapped(scope: StateScope, function: _Function) -> _Function:
    """Return `function` with the scope around each call; a pickle calls this."""
    wrapped = decorate(scope, function)
    if not isinstance(wrapped, FunctionType):
        return wrapped
    return cast(_Function, _Wrapped(wrapped, scope, function))


def capture(*, pin: bool = False) -> ThreadState:
    """Capture the state of this context: gradient modes, current device and streams, and flag scopes.

    Args:
        pin: Whether to capture the values of all flags. By default only flags that are set by a scope of this
            thread are captured; other flags have the value of the process where the state is applied.

    Returns:
        The state, with the methods `apply`, `run`, `wrap` and `install`.

    Raises:
        TypeError: `pin` is not a bool.

    Example:
        >>> import interlock
        >>> with interlock.no_grad():
        ...     state = interlock.capture()
        >>> with state.apply():
        ...     interlock.is_grad_enabled()
        False

    """
    return ThreadState(pin=as_bool("capture: pin", pin))


class _Unchanged(enum.Enum):
    UNCHANGED = "unchanged"


_UNCHANGED: Final = _Unchanged.UNCHANGED


def set_process_defaults(
    *,
    grad_enabled: bool | _Unchanged | None = _UNCHANGED,
    inference_mode: bool | _Unchanged | None = _UNCHANGED,
    multithreading_enabled: bool | _Unchanged | None = _UNCHANGED,
    device_index: int | _Unchanged | None = _UNCHANGED,
    default_device: _device | str | int | _Unchanged | None = _UNCHANGED,
) -> None:
    """Set modes and devices for the process, where no scope, guard or write sets them.

    A write such as `set_grad_enabled(False)` lasts for its context, so a start-up task of a server changes no
    request. Values of a context or thread take precedence, as for assigned flags. All are changed or none.

    Args:
        grad_enabled: Whether operations are recorded; None means the built-in default, as for all arguments.
        inference_mode: Whether inference mode is enabled; the mode that `interlock.inference_mode` sets.
        multithreading_enabled: Whether a backward pass may use other threads.
        device_index: The index of the current device.
        default_device: The device on which tensors are created.

    Raises:
        TypeError: A value has the wrong type.
        DeviceError: `default_device` is not the name of a device.
        FlagsFrozenError: Flags are frozen.

    Example:
        >>> import interlock
        >>> interlock.state.set_process_defaults(grad_enabled=False)
        >>> interlock.is_grad_enabled()
        False
        >>> interlock.state.set_process_defaults(grad_enabled=None)

    """
    given = {
        "inference_mode": inference_mode,
        "grad_enabled": grad_enabled,
        "multithreading_enabled": multithreading_enabled,
        "device_index": device_index,
        "default_device": default_device,
    }
    changed = {name: value for name, value in given.items() if value is not _UNCHANGED}
    _native.set_process_defaults(changed)


def process_defaults() -> dict[str, bool | int | str | None]:
    """Return the values that `set_process_defaults` has set; None where the built-in default applies."""
    return _native.process_defaults()


def scope_barrier() -> ScopeBarrier:
    """Return a context manager that ends the scopes of this context that its block leaves open.

    For tests and third-party code: a scope that is never exited would stay open in its context. With
    `INTERLOCK_DEBUG=1`, a `ScopeWarning` names the line that entered each scope that is ended.

    Returns:
        The context manager. Its attribute `ended` is the number of scopes that it has ended.

    Example:
        >>> import interlock
        >>> with interlock.state.scope_barrier() as barrier:
        ...     interlock.no_grad().__enter__()
        >>> interlock.is_grad_enabled(), barrier.ended
        (True, 1)

    """
    return ScopeBarrier()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import `Executor` on its first use, because `concurrent.futures` is slow to import."""
        if name != "Executor":
            raise attribute_error(__name__, name)
        from interlock._executor import Executor

        globals()[name] = Executor
        return Executor


def _warn_unclosed_scopes() -> None:
    """Warn of scopes that were never exited. Runs at exit under `INTERLOCK_DEBUG=1`."""
    errors = []
    ended, still_open = _native.unclosed_scopes()
    for scopes, end in ((ended, "its thread or context"), (still_open, "the process")):
        for name, file, line, number in scopes:
            times = f" ({number} times)" if number > 1 else ""
            message = f"the scope of {name} entered here was still open when {end} ended{times}"
            try:
                warnings.warn_explicit(message, ScopeWarning, file, line)
            except ScopeWarning as error:
                # A filter turns the warning into an error; report the remaining scopes as well.
                errors.append(error)
    if errors:
        raise ExceptionGroup("scopes that were never exited", errors)


if TRACED:
    atexit.register(_warn_unclosed_scopes)
list_exports(globals())
