from collections.abc import Callable
from types import TracebackType
from typing import Any, Never, ParamSpec, TypeVar, final

__all__ = ["StateScope", "TaskState", "ThreadState", "capture"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

@final
class ThreadState:
    def apply(self) -> StateScope: ...
    def run(
        self,
        function: Callable[_Arguments, _Result],
        /,
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> _Result: ...
    def wrap(self, function: _Function, /) -> _Function: ...
    def install(self) -> None: ...
    def __reduce__(self) -> Never: ...

@final
class StateScope:
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

@final
class TaskState:
    def __new__(cls) -> TaskState: ...
    def step(self, function: Callable[..., _Result], /, *arguments: object) -> _Result: ...

def capture(*, pin: bool = False) -> ThreadState: ...
