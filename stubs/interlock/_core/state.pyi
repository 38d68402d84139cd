from collections.abc import Callable, Sequence
from contextvars import Token
from typing import Any, Final, Never, Self, TypeVar, final

from typing_extensions import disjoint_base

__all__ = [
    "CALL_FOR_CALLERS",
    "TRACED",
    "BegunAtCreation",
    "CarriedTask",
    "HeldLocks",
    "Registration",
    "Resumes",
    "ScopeBarrier",
    "ScopeGroup",
    "StateScope",
    "ThreadState",
    "UninterruptedExit",
    "begin_defaults",
    "end_defaults",
    "end_open_scopes",
    "number_of_loads",
    "open_scopes",
    "process_defaults",
    "register_carried",
    "set_process_defaults",
    "unclosed_scopes",
    "warn_not_open",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")

@disjoint_base
class ThreadState:
    """The native base class of `interlock.ThreadState`: modes, flags of scopes, devices and streams."""
    def __new__(cls, *, pin: bool = False) -> Self: ...
    def apply(self) -> StateScope:
        """Return a context manager and decorator that applies the state in the context that enters it, above all open
        scopes.
        """
    def install(self) -> None:
        """Set the state as the base of this thread, below all open scopes, until the thread ends, in place of what was
        written without a scope on the thread and in its current context. For use as the initializer of worker threads.

        Example:
            >>> from concurrent.futures import ThreadPoolExecutor
            >>> import interlock
            >>> with interlock.no_grad():
            ...     state = interlock.capture()
            >>> with ThreadPoolExecutor(1, initializer=state.install) as pool:
            ...     pool.submit(interlock.is_grad_enabled).result()
            False
        """
    def _parts(self) -> list[tuple[str, str]]:
        """Return the name and the text of each part of the `repr`."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...
    def __reduce__(self) -> Never: ...

class UninterruptedExit:
    """The base class of context managers that an interrupt, such as `KeyboardInterrupt`, must not leave open: `__exit__`
    calls `_exit` with an empty list, and again with the same list if an interrupt ended the call.

    CPython runs signal handlers before the first instruction of a function in Python, so a function in Python cannot do
    this itself.
    """
    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

class BegunAtCreation(UninterruptedExit):
    """The base class of those that begin when they are created, so that an interrupt of `__enter__` would leave them open."""
    def __enter__(self) -> Self: ...

@disjoint_base
class ScopeGroup:
    """The base class of context managers that enter other ones together, those of the attribute `_scopes`.

    It is native, because CPython runs signal handlers between two calls of a function in Python.
    """
    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    def __enter__(self) -> None:
        """Enter the scopes, or none if one raises an exception."""
    def __exit__(self, *_error: object) -> None:
        """Exit the scopes in the reverse order, also after one that raises, and raise the first exception."""

@final
class HeldLocks:
    """A context manager that acquires `threading.RLock` objects, in their order. Its target is whether it could acquire
    all in time.

    CPython looks for no signal between `__enter__` of a native class and the block of `with`, so that an interrupt leaves no
    lock acquired. Where it does (3.14), the locks are released with the object.
    """
    def __new__(cls, locks: Sequence[Any], seconds: float) -> HeldLocks: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class StateScope:
    """A scope in which a captured state is active; also a decorator."""
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

@final
class ScopeBarrier:
    """A context manager that ends the scopes that are left open in its block."""
    def __new__(cls) -> ScopeBarrier: ...
    @property
    def ended(self) -> int:
        """The number of scopes that the exits of this object have ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class Resumes:
    """Enters the scope of a decorated generator around each resume: above all scopes but the generator's own.

    The generator has the scopes that were entered during its resumes and are still open. A resume enters at the position
    of an earlier one, below them, or at the top if there are none in the present context. It is native so that no signal
    handler runs between an enter and the block.
    """

    def __new__(cls, new_scope: Callable[[], Any]) -> Resumes: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> object: ...

CALL_FOR_CALLERS: Final[tuple[str, ...]]
TRACED: Final[bool]

def process_defaults() -> dict[str, bool | int | str | None]:
    """Return the values of modes and devices for the process; None where the built-in default applies."""

def set_process_defaults(values: dict[str, Any]) -> None:
    """Change the values of modes and devices for the process: `values` maps the names of `process_defaults` to values."""

@final
class Registration:
    """A function that interlock calls. `with registration:` removes it at the end of the block."""
    @property
    def is_registered(self) -> bool:
        """Whether the function was not removed."""
    def remove(self) -> None:
        """Remove the function. Has no effect if it was removed before."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class CarriedTask:
    """The carried values of a task: those of its creator at first."""
    def __new__(cls) -> CarriedTask: ...
    def begin(self) -> None:
        """Begin a step of the task: its values are those of this thread until `end`."""
    def end(self) -> None:
        """End the step."""

def register_carried(
    name: str, save: Callable[[], _Value], restore: Callable[[_Value], object]
) -> Registration:
    """Register a value of another library that belongs to a thread there, so that captured states and tasks have it.

    `interlock.capture` saves it, and where the state is applied, also on other threads, it is the value of the thread until
    the end. Under `interlock.aio`, and from Python 3.14 under plain asyncio, each task has a value of its own, which starts
    as that of its creator. Values are saved and restored in the order of registrations. Exceptions of the functions are
    reported through `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the call into interlock.

    A registration whose functions have the modules and names of those of an earlier one replaces it, as after
    `importlib.reload`: the earlier one has no effect any more.

    Args:
        name: A name that no other value has.
        save: Called without arguments; returns the value of the thread.
        restore: Called with a value that `save` has returned; makes it that of the thread. It is not called if `save` has just
            returned this very object on the thread.

    Returns:
        The registration. The value is carried until its `remove` method is called, or to the end of a `with` block.

    Raises:
        TypeError: `name` is not a str, or `save` or `restore` is not callable.
        ArgumentError: `name` is registered already, with other functions.

    Example:
        >>> import threading
        >>> import interlock
        >>> verbosity = threading.local()
        >>> verbosity.level = 0
        >>> def save():
        ...     return verbosity.level
        >>> def restore(level):
        ...     verbosity.level = level
        >>> with interlock.state.register_carried("verbosity", save, restore):
        ...     verbosity.level = 2
        ...     state = interlock.capture()
        ...     verbosity.level = 0
        ...     state.run(save)
        2
    """

def end_open_scopes() -> int:
    """Exit the scopes that are open in this context, as their `__exit__` would: scopes that the context has inherited end
    wherever they are open. Return their number.

    For a scope that was entered and lost, in a notebook for example. Writes without a scope and guards of Rust or C code
    remain.

    Example:
        >>> import interlock
        >>> interlock.no_grad().__enter__()
        >>> interlock.state.end_open_scopes()
        1
        >>> interlock.is_grad_enabled()
        True
    """

def open_scopes() -> list[str]:
    """Return where the scopes that are open in any context were entered, as `file:line`, oldest first.

    Those of a context that has ended are in the list until the thread that ran it last uses interlock again.

    Raises:
        NotTracedError: The process was started without `INTERLOCK_DEBUG=1`, so that the lines are not recorded.
    """

def warn_not_open(name: str) -> None:
    """Warn with `INTERLOCK_DEBUG=1` about the exit of a scope of this name, which is not open."""

def begin_defaults() -> Token[Any]:
    """Hide the state of the current context, so that the defaults of the process apply, and return a token for
    `end_defaults`.
    """

def number_of_loads() -> tuple[int, int] | None:
    """Return numbers that change when a shared library is loaded or unloaded; None if the C library does not count that.

    In Rust, because the C library calls a function while it holds a lock that `dlopen` needs. A function in Python would wait
    there for the GIL, whose holder may be in `dlopen`. This thread holds the GIL meanwhile, so no other one can fork from Python
    and leave the lock acquired in the child.
    """

def end_defaults(token: Token[Any]) -> bool:
    """Restore the state that `begin_defaults` has hidden. Return False, without effect, in another context than that of the
    token.
    """

def _observe_registrations(
    observer: Callable[[str, Any], object] | None,
) -> Callable[[str, Any], object] | None: ...
def unclosed_scopes() -> tuple[list[tuple[str, str, int, int]], list[tuple[str, str, int, int]]]:
    """Return the distinct scopes that have not been exited, each with its name, the file and the line that entered it, and the
    number of enters: those of threads and contexts that have ended (the first 100), and those that are open. Empty unless the
    process was started with `INTERLOCK_DEBUG=1`.
    """
