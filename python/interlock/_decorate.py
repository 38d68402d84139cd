"""Functions with a scope around each call, generators with one around each resume."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Scope(Protocol):
    """What can be entered and left again and again, also while it is open."""

    def __enter__(self) -> object: ...

    def __exit__(self, kind: object, error: object, traceback: object, /) -> object: ...


def decorate(scope: Scope, function: _Function) -> _Function:
    """Return `function` with `scope` open while it runs.

    A generator function gets the scope around each resume, never while its consumer runs. A static or
    class method stays one. Of a class only the construction is covered, which warns.
    """
    if isinstance(function, type):
        return cast(_Function, _decorate_construction(scope, function))
    if isinstance(function, staticmethod | classmethod):
        return cast(_Function, type(function)(decorate(scope, function.__func__)))
    if not callable(function):
        raise TypeError(f"only a function can be decorated, got a value of type {type(function).__name__}")
    # Imported when something is decorated: it takes a third of the time that interlock may take to import.
    import inspect

    fresh = _scope_maker(scope)
    wrapped = _decorate_generator if inspect.isgeneratorfunction(function) else _decorate_function
    return cast(_Function, wrapped(scope, fresh, function))


def _scope_maker(scope: Scope) -> Callable[[], Scope] | None:
    """Return what makes a scope for each call, or None where one scope serves every call.

    A scope of interlock's own may be entered again while it is open. A subclass may keep state of its
    own between enter and leave, so it is cloned, as in PyTorch.
    """
    is_subclass = not type(scope).__module__.startswith("interlock.")
    return getattr(scope, "clone", None) if is_subclass else None


def _decorate_function(
    scope: Scope, fresh: Callable[[], Scope] | None, function: Callable[..., Any]
) -> Callable[..., Any]:
    if fresh is None:

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with scope:
                return function(*arguments, **named)

    else:

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with fresh():
                return function(*arguments, **named)

    return call


def _decorate_generator(
    scope: Scope, fresh: Callable[[], Scope] | None, function: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        generator = function(*arguments, **named)
        resume: Callable[[Any], Any] = generator.send
        sent: Any = None
        while True:
            try:
                with scope if fresh is None else fresh():
                    produced = resume(sent)
            except StopIteration as end:
                return end.value
            try:
                resume, sent = generator.send, (yield produced)
            except GeneratorExit:
                with scope if fresh is None else fresh():
                    generator.close()
                raise
            except BaseException as error:
                resume, sent = generator.throw, error

    return run


def _decorate_construction(scope: Scope, decorated: type) -> type:
    warnings.warn(
        f"decorating the class {decorated.__qualname__} covers its construction only; decorate its methods",
        FutureWarning,
        stacklevel=3,
    )
    construct: Any = decorated.__init__  # type: ignore[misc]  # the constructor of this class, on purpose
    setattr(decorated, "__init__", decorate(scope, construct))  # noqa: B010
    return decorated
