"""Scopes that set settings and restore them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

from interlock._core.state import BegunAtCreation, UninterruptedExit
from interlock._quote import shown as quoted
from interlock._scope_decorator import wrap_resumable
from interlock.errors import ArgumentError, SettingConflictError, SettingValueError, SettingWarning
from interlock.settings import _enter, _import_hook, _leave, _lookup, _registry, _scopes
from interlock.settings._locks import LONGEST_WAIT, busy
from interlock.settings._origin import Origin, caller, of_function
from interlock.settings._scopes import Scope
from interlock.settings._setting import converted
from interlock.settings._writes import Write, report, same, shown

if TYPE_CHECKING:
    import asyncio

_OnConflict: TypeAlias = Literal["raise", "wait", "warn"]
_OnWrite: TypeAlias = Literal["raise", "warn", "ignore"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _checked(function: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in the form in which they are read."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{function}: values must be a mapping, got {type(values).__name__}")
    _import_hook.run_imported()
    return {name: converted(function, _lookup.get(function, name), value) for name, value in values.items()}


class override(UninterruptedExit):
    """Set settings in a scope: `with`, `async with`, or a decorator of functions and coroutine functions.

    Settings of a thread or of a context are set for this thread or context. A setting of the process is held
    exclusively: scopes that this context opens inside may set it again, and a scope of another context with
    an equal value joins, unless the holder has nested scopes of several values. Else it raises, waits or
    warns. The last scope restores the previous value, unless other code has set a third value, which is left
    and reported with a `SettingWarning`.

    The names are looked up when the scope is entered, so a decorator can be applied before the library is
    imported.

    Args:
        values: Values by the names of settings.
        on_conflict: What happens if another scope holds a setting of the process with another value, or a pin
            keeps it: `"raise"`, `"wait"` until it ends, or `"warn"` and leave that setting unchanged.
        timeout: The seconds that `"wait"` waits at most; None for no limit.

    Raises:
        ArgumentError: `on_conflict` or `timeout` has another value.
        UnknownSettingError: A setting is not known.
        SettingValueError: A setting does not accept its value, is read-only, or cannot be read, so that it
            could not be put back; then all settings are as before. At the end, a library refused a previous
            value; all other settings are restored.
        SettingConflictError: Another scope holds a setting with another value. With `"wait"`, it did not end
            in time, or it runs on this thread, which waiting would block; `async with` waits for it. Or
            another thread has been reading or writing a setting for 30 seconds.

    Example:
        >>> from interlock import settings
        >>> config = {"level": 1}
        >>> level = settings.Setting(
        ...     "mylib.level",
        ...     get=lambda: config["level"],
        ...     set=lambda value: config.update(level=value),
        ... )
        >>> _ = settings.register(level)
        >>> with settings.override({"mylib.level": 2}):
        ...     config["level"]
        2
        >>> config["level"]
        1

    """

    _kind = "override"

    def __init__(
        self, values: Mapping[str, Any], *, on_conflict: _OnConflict = "raise", timeout: float | None = None
    ) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"{self._kind}: values must be a mapping, got {type(values).__name__}")
        if on_conflict not in ("raise", "wait", "warn"):
            raise ArgumentError(
                f'{self._kind}: on_conflict must be "raise", "wait" or "warn", got {quoted(on_conflict)}'
            )
        if timeout is not None and on_conflict != "wait":
            raise ArgumentError(f'{self._kind}: timeout must be None unless on_conflict is "wait"')
        _check_timeout(self._kind, timeout)
        self._values = dict(values)
        self._on_conflict = on_conflict
        self._timeout = timeout
        self._open: list[Scope] = []
        self._decorated: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"{self._kind}({_texts(self._values)})"

    def _scope(self) -> Scope:
        return Scope("override", _checked("override", self._values), self._caller())

    def _caller(self) -> Origin:
        """Return the line that opens the scope, or of the decorated function: an event loop may call it."""
        return caller() if self._decorated is None else of_function(self._decorated)

    def __enter__(self) -> Self:
        scope = self._scope()
        try:
            deadline = _deadline(self._timeout)
            blocking, writes = self._entered(scope, deadline)
            if blocking:
                writes = self._wait(scope, deadline)
            self._report(writes)
            return self
        except BaseException:
            self._abandon(scope)
            raise

    def _entered(self, scope: Scope, deadline: float) -> tuple[dict[str, list[Scope]], list[Write]]:
        seconds = _remaining(deadline)
        found = self._try(scope, seconds)
        if found is None:
            raise busy(scope.kind, scope.values, seconds)
        return found

    def _wait(self, scope: Scope, deadline: float) -> list[Write]:
        """Enter a scope once the scopes in its way have ended."""
        released = threading.Event()
        try:
            # First, so that a scope that ends after an attempt ends the wait for it.
            _leave.wakers.append(released.set)
            while True:
                released.clear()
                blocking, writes = self._entered(scope, deadline)
                if not blocking:
                    return writes
                for name, scopes in blocking.items():
                    if any(each.thread_id == threading.get_ident() for each in scopes):
                        why = "; waiting would block it, because it runs on this thread"
                        raise _conflict(scope, {name: scopes}, why)
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not released.wait(None if remaining == math.inf else remaining):
                    raise self._timed_out(scope, blocking)
        finally:
            with contextlib.suppress(ValueError):
                _leave.wakers.remove(released.set)

    async def __aenter__(self) -> Self:
        scope = self._scope()
        try:
            deadline = _deadline(self._timeout)
            blocking, writes = await self._entered_by_task(scope, deadline)
            if blocking:
                writes = await self._wait_in_task(scope, deadline)
            self._report(writes)
            return self
        except BaseException:
            self._abandon(scope)
            raise

    async def _entered_by_task(
        self, scope: Scope, deadline: float
    ) -> tuple[dict[str, list[Scope]], list[Write]]:
        seconds = _remaining(deadline)
        pauses = _Pauses(seconds)
        while (found := self._try(scope, 0.0)) is None:
            if not await pauses.pause():
                raise busy(scope.kind, scope.values, seconds)
        return found

    async def _wait_in_task(self, scope: Scope, deadline: float) -> list[Write]:
        """Enter a scope once the scopes in its way have ended, without blocking the event loop."""
        # Imported here, so that programs without event loops do not import it.
        import asyncio

        loop = asyncio.get_running_loop()
        while True:
            released = loop.create_future()
            wake = functools.partial(_wake, loop, released)
            try:
                # First, as in `_wait`.
                _leave.wakers.append(wake)
                blocking, writes = await self._entered_by_task(scope, deadline)
                if not blocking:
                    return writes
                own = _scopes.chain()
                for name, scopes in blocking.items():
                    if any(each in own for each in scopes):
                        raise _conflict(scope, {name: scopes}, "; it encloses this scope")
                remaining = None if deadline == math.inf else max(0.0, deadline - time.monotonic())
                try:
                    async with asyncio.timeout(remaining):
                        await released
                except TimeoutError:
                    raise self._timed_out(scope, blocking) from None
            finally:
                with contextlib.suppress(ValueError):
                    _leave.wakers.remove(wake)

    def _abandon(self, scope: Scope) -> None:
        """Exit a scope that was entered when a function of `watch` or an interrupt raised."""
        if scope.is_open:
            report(self._leave(scope))

    def _report(self, writes: Sequence[Write]) -> None:
        report(writes)

    def _try(self, scope: Scope, seconds: float) -> tuple[dict[str, list[Scope]], list[Write]] | None:
        """Enter a scope if nothing is in its way, or as far as `warn` allows.

        Returns:
            What is in its way, and the writes if nothing is; None if another thread reads or writes one of
            the settings for longer than `seconds`.

        """
        found = _enter.try_to_enter(scope, nest=True, seconds=seconds)
        while found is not None and found[0] and self._on_conflict != "wait":
            blocking, _ = found
            if self._on_conflict == "raise":
                raise _conflict(scope, blocking)
            for name, scopes in blocking.items():
                # The conflict may be with an alias of a wanted setting.
                aliases = {each.name for each in _registry.relatives(_lookup.get("override", name))}
                for alias in [name] if name in scope.values else aliases & scope.values.keys():
                    _warn(scope, alias, name, scopes[0])
                    del scope.values[alias]
            found = _enter.try_to_enter(scope, nest=True, seconds=seconds)
        if found is not None and not found[0]:
            self._open.append(scope)
        return found

    def _timed_out(self, scope: Scope, blocking: dict[str, list[Scope]]) -> SettingConflictError:
        return _conflict(scope, blocking, f", after waiting for {self._timeout} s")

    def _exit(self, exited: list[Scope]) -> None:
        """Exit the scope in the list. If it is empty, exit the innermost scope, which is added first."""
        while not exited:
            # A fixture may be exited in another context than it was entered in.
            found = [each for each in _scopes.chain() if each in self._open] or self._open[-1:]
            if not found:
                raise RuntimeError(f"{self._kind}: exited without being entered")
            exited.append(found[0])
            try:
                self._open.remove(found[0])
            except ValueError:
                # Another thread exits the scope, or has exited it.
                exited.clear()
        report(self._leave(exited[0]))

    def _leave(self, scope: Scope) -> list[Write]:
        try:
            return _leave.leave(scope)
        finally:
            if scope in self._open:
                self._open.remove(scope)

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            pauses = _Pauses(LONGEST_WAIT)
            while any(_leave.is_busy(scope) for scope in self._open) and await pauses.pause():
                pass
        finally:
            self.__exit__()

    def __call__(self, function: _Function) -> _Function:
        """Decorate a function, so that each call opens the scope.

        A coroutine function holds the settings from its first step to its end. A generator holds them while
        it runs, and not while it is suspended.

        Args:
            function: The function; an async generator function is refused.

        """
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"{self._kind}: function must be a function, got {quoted(function)}")
        if inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{self._kind}: {function.__qualname__} is an async generator, which a decorator cannot hold "
                f"a setting for: use `async with {self._kind}(...)` in it"
            )

        def scope() -> override:
            copy = self._copy()
            copy._decorated = function
            return copy

        wrapper: Callable[..., Any]
        if inspect.iscoroutinefunction(function):

            async def wrapper(*arguments: Any, **named: Any) -> Any:
                async with scope():
                    return await function(*arguments, **named)

        elif inspect.isgeneratorfunction(function):
            wrapper = wrap_resumable(scope, function)
        else:

            def wrapper(*arguments: Any, **named: Any) -> Any:
                with scope():
                    return function(*arguments, **named)

        return functools.wraps(function)(wrapper)  # type: ignore[return-value]

    def _copy(self) -> override:
        return type(self)(self._values, on_conflict=self._on_conflict, timeout=self._timeout)


def _check_timeout(function: str, timeout: object) -> None:
    allowed = f"{function}: timeout must be None or a number of seconds from 0 on, got {quoted(timeout)}"
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | None):
        raise TypeError(allowed)
    # `threading` waits no longer.
    if timeout is not None and not 0 <= timeout <= threading.TIMEOUT_MAX:
        raise ArgumentError(allowed)


def _deadline(timeout: float | None) -> float:
    return math.inf if timeout is None else time.monotonic() + timeout


def _remaining(deadline: float) -> float:
    """Return the seconds to wait for another thread that reads or writes a setting."""
    return LONGEST_WAIT if deadline == math.inf else min(LONGEST_WAIT, max(0.0, deadline - time.monotonic()))


class _Pauses:
    """Pauses between attempts, in which the event loop runs other tasks, for some seconds in all."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._seconds = 0.0

    async def pause(self) -> bool:
        """Wait before the next attempt. Return False if there is no time for one."""
        import asyncio

        if time.monotonic() >= self._end:
            return False
        await asyncio.sleep(self._seconds)
        self._seconds = min(2 * self._seconds + 0.0005, 0.05)
        return True


def _wake(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    def wake() -> None:
        if not future.done():
            future.set_result(None)

    # The loop of a task that was abandoned may be closed.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(wake)


def _texts(values: Mapping[str, Any]) -> str:
    """Return the values of settings, in the form in which a `FlagScope` shows those of flags."""
    return ", ".join(f"{name}={shown(value)}" for name, value in values.items())


def _conflict(scope: Scope, blocking: dict[str, list[Scope]], why: str = "") -> SettingConflictError:
    """Return the error for the first setting that other scopes block."""
    name, (other, *_) = next(iter(blocking.items()))
    wanted = f"; {shown(scope.values[name])} is requested" if name in scope.values else "; it would change"
    held = other.describe(name)
    innermost = _scopes.holders(name)[-1:]
    if name in scope.values and innermost and same(innermost[0].values[name], scope.values[name]):
        held += f", inside of which it is {innermost[0].describe(name)}"
    return SettingConflictError(
        f"{scope.kind}: {name} is {held}{wanted} at {scope.origin} (thread {scope.origin.thread}){why}"
    )


def _warn(scope: Scope, alias: str, name: str, other: Scope) -> None:
    message = f"{alias} is left as it is: {name} is {other.describe(name)}"
    warnings.warn_explicit(message, SettingWarning, scope.origin.file, scope.origin.line)


class pin(BegunAtCreation):
    """Keep settings of the process at values until `release` is called or the `with` block ends.

    The settings are written at once. A write by other code, through a function of the library that interlock
    wraps, is undone, and raises or warns with both lines. A change by code that interlock cannot see is found
    and undone at the next look: `explain`, `writes`, `snapshot`, or a write of a related setting.

    Args:
        values: Values by the names of settings of the process.
        on_write: What happens in the code that writes: `"raise"` a `SettingPinnedError`, `"warn"`, or
            `"ignore"`.

    Raises:
        ArgumentError: `on_write` has another value.
        UnknownSettingError: A setting is not known.
        SettingValueError: A setting does not accept its value, is read-only, cannot be read, or is not one of
            the process.
        SettingConflictError: Another scope holds a setting with another value, or pins it to one. Or another
            thread has been reading or writing a setting for 30 seconds.

    Example:
        >>> from interlock import settings
        >>> config = {"depth": 1}
        >>> depth = settings.Setting(
        ...     "mylib.depth",
        ...     get=lambda: config["depth"],
        ...     set=lambda value: config.update(depth=value),
        ... )
        >>> _ = settings.register(depth)
        >>> with settings.pin({"mylib.depth": 2}, on_write="ignore"):
        ...     config["depth"] = 3
        ...     settings.explain("mylib.depth").value
        2
        >>> config["depth"]
        1

    """

    def __init__(self, values: Mapping[str, Any], *, on_write: _OnWrite = "raise") -> None:
        if on_write not in ("raise", "warn", "ignore"):
            raise ArgumentError(f'pin: on_write must be "raise", "warn" or "ignore", got {quoted(on_write)}')
        wanted = _checked("pin", values)
        for name in wanted:
            extent = _lookup.get("pin", name).extent
            if extent != "process":
                raise SettingValueError(
                    f"pin: {name} must be a setting of the process, got one of each {extent}"
                )
        self._scope = Scope("pin", wanted, caller(), on_write)
        try:
            blocking, writes = _enter.enter_pin(self._scope)
            if blocking:
                raise _conflict(self._scope, blocking)
            report(writes)
        except BaseException:
            self.release()
            raise

    def __repr__(self) -> str:
        return f"pin({_texts(self._scope.values)})"

    def release(self) -> None:
        """Release the settings and restore the previous values.

        A second call has no effect, or retries failed values.

        Raises:
            SettingValueError: A library refused its previous value. All other settings are restored.

        """
        report(_leave.leave(self._scope))

    def _exit(self, _exited: list[Scope]) -> None:
        self.release()
