from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Never, Self, TypeVar, final

from typing_extensions import disjoint_base

__all__ = ["TRACED", "StateScope", "TaskState", "ThreadState", "never_left", "open_scopes"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

@disjoint_base
class ThreadState:
    """Everything that a thread decides for itself, as it was when it was captured."""
    def __new__(cls, *, pin: bool = False) -> Self: ...
    def apply(self) -> StateScope:
        """A context manager and decorator that puts the state in force on the thread that enters it, over
        whatever scopes are open there.
        """
    def wrap(self, function: _Function, /) -> _Function:
        """`function` with the state in force during each call, wherever it is called; a generator, coroutine or
        async generator has it during each resume.
        """
    def install(self) -> None:
        """Makes the state what this thread starts from, below whatever scopes are open, until the thread ends:
        `ThreadPoolExecutor(initializer=state.install)`.
        """
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...
    def __reduce__(self) -> Never: ...

@final
class StateScope:
    """A captured state that is put in force while the scope is open; also a decorator."""
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
    """The state of one task. It begins as a copy of the state of the thread that makes it."""
    def __new__(cls) -> TaskState: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...

TRACED: Final[bool]

def open_scopes() -> list[str]:
    """Where each scope was entered that is open on any thread or task, the first first: `file:line`. Empty
    unless the process was started with `INTERLOCK_DEBUG=1`.
    """

def never_left() -> tuple[list[str], list[str]]:
    """Where scopes were entered that nobody has left, as `file:line`: those whose thread or task has ended (each
    place once, the first hundred), and those that are open. Empty unless the process was started with
    `INTERLOCK_DEBUG=1`.
    """
