"""Decorates functions so that a scope is open during each call or, for generators, each resume."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Literal, Protocol, TypeVar, cast

from interlock._core.state import Resumes
from interlock._quote import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])
# CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR of `inspect`.
_RESUMABLE = 0x20 | 0x80 | 0x200


class Scope(Protocol):
    """A context manager that can be entered repeatedly, also while it is open."""

    def __enter__(self) -> object: ...

    def __exit__(self, kind: object, error: object, traceback: object, /) -> object: ...


def decorate(scope: Scope, function: _Function) -> _Function:
    """Return a wrapper of `function` that enters `scope` for the duration of each call.

    For generators, coroutines and async generators the scope is entered around each resume, so it is never
    open while they are suspended. Static and class methods keep their kind. For a class only the
    construction is wrapped, with a `FutureWarning`.

    Raises:
        TypeError: `function` is not callable, or a class whose attributes cannot be set.

    """
    if isinstance(function, type):
        return cast(_Function, _decorate_construction(scope, function))
    if isinstance(function, staticmethod | classmethod):
        return cast(_Function, type(function)(decorate(scope, function.__func__)))
    if not callable(function):
        raise TypeError(f"{type(scope).__name__}: function must be callable, got {type(function).__name__}")
    kind = resumable_kind(function)
    if kind == "coroutine":
        return cast(_Function, _decorate_coroutine(scope, function))
    if kind == "async generator":
        return cast(_Function, _decorate_async_generator(scope, function))
    if kind == "generator":
        decorated = _decorate_generator(scope, function)
        code = getattr(function, "__code__", None)
        # CO_ITERABLE_COROUTINE of `inspect`.
        is_awaitable = code is not None and code.co_flags & 0x100
        return cast(_Function, types.coroutine(decorated) if is_awaitable else decorated)
    return cast(_Function, _decorate_function(scope, function))


def resumable_kind(
    function: Callable[..., Any],
) -> Literal["coroutine", "async generator", "generator"] | None:
    """Return what a call of `function` creates, if the call does not run the body of the function."""
    plain: Any = function
    while isinstance(plain, types.MethodType):
        plain = plain.__func__
    # `inspect` takes microseconds for what most functions answer at once. An attribute may be a mark of it.
    if type(plain) is types.FunctionType and not plain.__code__.co_flags & _RESUMABLE and not plain.__dict__:
        return None
    # Imported here, because the import of `inspect` takes a third of the time budget of `import interlock`.
    import inspect

    # Calling an object runs the `__call__` of its class.
    called = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return "coroutine"
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(called):
        return "async generator"
    if inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(called):
        return "generator"
    return None


def check_plain(what: str, function: Callable[..., Any], hint: str) -> None:
    """Raise TypeError if a call of `function` only creates a coroutine or generator."""
    kind = resumable_kind(function)
    if kind is not None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise TypeError(f"{what} must be a plain function, got the {kind} function {shown(name)}; {hint}")


def _clone_of(scope: Scope) -> Callable[[], Scope] | None:
    """Return the method that creates a scope for each call or resume, or None to reuse `scope`.

    A scope of interlock can be entered again while it is open. A subclass may hold state between enter and
    exit, so each call uses a clone of it, as in PyTorch.
    """
    is_subclass = not type(scope).__module__.startswith("interlock.")
    return getattr(scope, "clone", None) if is_subclass else None


def _decorate_function(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    clone = _clone_of(scope)
    if clone is None:

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with scope:
                return function(*arguments, **named)

    else:

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with clone():
                return function(*arguments, **named)

    return call


def _scope_factory(scope: Scope) -> Callable[[], Scope]:
    return _clone_of(scope) or (lambda: scope)


def wrap_resumable(
    new_scope: Callable[[], Scope], start: Callable[..., Any], resumes: Resumes | None = None
) -> Callable[..., Generator[Any, Any, Any]]:
    """Return a generator function that enters a scope around each resume of another generator.

    Args:
        new_scope: Returns the scope for one resume.
        start: Returns the generator, the coroutine that is awaited, or one step of an async generator.
        resumes: The resumes of the generator, if this is one of several steps.

    """

    def run(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        running = start(*arguments, **named)
        resumed = Resumes(new_scope) if resumes is None else resumes
        resume: Callable[[Any], Any] = running.send
        sent: Any = None
        while True:
            try:
                with resumed:
                    produced = resume(sent)
            except StopIteration as end:
                return end.value
            finally:
                # Breaks the reference cycle between this frame and an exception that was thrown in.
                sent = None
            try:
                resume, sent = running.send, (yield produced)
            except BaseException as error:
                # Also the GeneratorExit of `close`: before Python 3.13, closing a step of an async generator
                # defers the cleanup of the generator, which would then run outside of the scope.
                if _is_finished(running):
                    raise
                resume, sent = running.throw, error

    return run


def _is_finished(inner: Any) -> bool:
    """Return whether the garbage collector has already closed a generator, which then has no frame."""
    frames = (getattr(inner, name, inner) for name in ("cr_frame", "gi_frame", "ag_frame"))
    return any(frame is None for frame in frames)


def _decorate_generator(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(wrap_resumable(_scope_factory(scope), function))


def _decorate_coroutine(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    awaited = types.coroutine(wrap_resumable(_scope_factory(scope), function))

    @functools.wraps(function)
    async def run(*arguments: Any, **named: Any) -> Any:
        return await awaited(*arguments, **named)

    return run


def _decorate_async_generator(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    new_scope = _scope_factory(scope)

    @functools.wraps(function)
    async def run(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*arguments, **named)
        awaited = types.coroutine(wrap_resumable(new_scope, lambda step: step, Resumes(new_scope)))
        resume: Callable[[Any], Any] = functools.partial(_first_step, generator)
        sent: Any = None
        while True:
            try:
                produced = await awaited(resume(sent))
            except StopAsyncIteration:
                return
            finally:
                sent = None
            try:
                resume, sent = generator.asend, (yield produced)
            except BaseException as error:
                if _is_finished(generator):
                    raise
                resume, sent = generator.athrow, error

    return run


def _first_step(generator: AsyncGenerator[Any, Any], sent: None) -> Awaitable[Any]:
    """Call the first `asend` of a generator without the event loop's async generator hooks.

    The hooks would register the generator with the loop, which would then close it concurrently with the
    generator that wraps it.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return generator.asend(sent)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _decorate_construction(scope: Scope, decorated: type) -> type:
    # Py_TPFLAGS_IMMUTABLETYPE: most classes that are written in C.
    if decorated.__flags__ & 1 << 8:
        name = type(scope).__name__
        raise TypeError(f"{name}: function must not be a class of an extension, got {decorated.__qualname__}")
    warnings.warn(
        f"decorating the class {decorated.__qualname__} covers its construction only; decorate its methods",
        FutureWarning,
        stacklevel=3,
    )
    for name in ("__new__", "__init__"):
        inherited: Any = getattr(object, name)
        construct: Any = getattr(decorated, name)
        # Methods inherited from `object` are not wrapped: `object.__new__` and `object.__init__` reject
        # arguments if the class overrides both.
        if construct is not inherited:
            covered = decorate(scope, construct)
            setattr(decorated, name, staticmethod(covered) if name == "__new__" else covered)
    return decorated
