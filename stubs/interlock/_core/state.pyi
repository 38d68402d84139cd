from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Never, ParamSpec, TypeVar, final

__all__ = ["TRACED", "StateScope", "TaskState", "ThreadState", "capture", "open_scopes"]

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
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

@final
class TaskState:
    def __new__(cls) -> TaskState: ...
    def step(self, function: Callable[..., _Result], /, *arguments: object) -> _Result: ...

TRACED: Final[bool]

def open_scopes() -> list[str]: ...
def capture(*, pin: bool = False) -> ThreadState: ...
