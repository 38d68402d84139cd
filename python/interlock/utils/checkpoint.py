"""Checkpoints: parts of a neural network that recompute their activations in the backward pass.

A build without the tensor runtime lacks this module.

A checkpoint trades computation for memory. `checkpoint` calls a function and stores its arguments, but not
the tensors that its operations save. The backward pass calls the function again for them, in the state of
the first call: gradient modes, flags, devices, streams and random numbers. Names and arguments follow the
non-reentrant checkpoints of `torch.utils.checkpoint`.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._arguments import as_bool
from interlock._core.autograd import is_grad_enabled
from interlock._core.state import UninterruptedExit, warn_not_open
from interlock._core.tensor import (
    Tensor,
    _backward_pass,
    _GeneratorStates,
    _SavedInput,
    saved_tensors_hooks,
)
from interlock._quote import shown
from interlock.autograd.grad_mode import enable_grad
from interlock.errors import ArgumentError, CheckpointError
from interlock.state import ThreadState, capture

__all__ = [
    "CheckpointError",
    "checkpoint",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
Contexts: TypeAlias = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
_Facts = tuple[tuple[int, ...], Any, Any]

# What the context managers below have set, or None.
_debug: contextvars.ContextVar[bool | None] = contextvars.ContextVar("checkpoint debug", default=None)
_early_stop: contextvars.ContextVar[bool | None] = contextvars.ContextVar("early stop", default=None)


class _Setting(UninterruptedExit):
    """Sets a variable until it is exited. It can be entered again while it is open."""

    _variable: contextvars.ContextVar[bool | None]

    def __init__(self, value: bool | None) -> None:
        self._value = value
        self._tokens: list[contextvars.Token[bool | None]] = []

    def __enter__(self) -> None:
        # In one step for signal handlers, which would otherwise run between the set and the append.
        self._tokens += map(self._variable.set, (self._value,))

    def _exit(self, exited: list[None]) -> None:
        if exited:
            return
        if not self._tokens:
            return warn_not_open(type(self).__name__)
        reset = map(self._variable.reset, self._tokens[-1:])
        # No signal handler runs between these lines.
        del self._tokens[-1]
        exited += reset


class set_checkpoint_early_stop(_Setting):
    """Set whether recomputations stop early, instead of the argument `early_stop` of `checkpoint`.

    A context manager. It applies to the checkpoints whose first call is inside of it, on this thread or in
    this task. The backward pass may be outside.

    Args:
        enable: Whether a recomputation stops after the last tensor that the backward pass needs.

    Raises:
        TypeError: `enable` is not a bool.

    Example:
        >>> import interlock
        >>> from interlock.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = interlock.ones(1, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(lambda x: (x.exp(), print("called"))[0], x)
        called
        >>> y.backward()
        called

    """

    _variable = _early_stop

    def __init__(self, enable: bool) -> None:
        super().__init__(as_bool("set_checkpoint_early_stop: enable", enable))


class set_checkpoint_debug_enabled(_Setting):
    """Set whether errors list source lines, instead of the argument `debug` of `checkpoint`.

    A context manager. It applies to the checkpoints whose first call is inside of it, on this thread or in
    this task.

    Args:
        enabled: Whether errors list source lines. None means the argument.

    Raises:
        TypeError: `enabled` is neither a bool nor None.

    """

    _variable = _debug

    def __init__(self, enabled: bool | None) -> None:
        if enabled is not None:
            enabled = as_bool("set_checkpoint_debug_enabled: enabled", enabled)
        super().__init__(enabled)


def noop_context_fn() -> Contexts:
    """Return two context managers without effect: the default of `context_fn`."""
    return nullcontext(), nullcontext()


class _EndRecomputation(BaseException):
    """Ends a recomputation after the last tensor that the backward pass needs.

    Not an `Exception`, so that handlers in the function do not catch it.
    """

    def __init__(self, owner: object) -> None:
        super().__init__("the recomputation of a checkpoint ends here")
        self.owner = owner


class _NoPass:
    """Identifies one access to saved tensors outside of a backward pass."""


class _Saved:
    """Replaces a tensor that a node saves. The node owns it."""

    __slots__ = ("__weakref__", "recomputed")

    def __init__(self) -> None:
        # By backward pass. A node may unpack the tensor several times, so it is released with the saved
        # tensors of the node, or at the end of the pass.
        self.recomputed: weakref.WeakKeyDictionary[object, Tensor] = weakref.WeakKeyDictionary()


def _facts(tensor: Tensor) -> _Facts:
    return tensor.shape, tensor.dtype, tensor.device


def _text(facts: _Facts) -> str:
    shape, dtype, device = facts
    return f"shape {shape}, {dtype}, {device}"


def _site() -> str:
    """Return the source line outside of interlock that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("interlock."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


class _Checkpoint:
    """A call of a function, and its recomputations."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        recompute_context: AbstractContextManager[Any],
    ) -> None:
        self.function = function
        # Hooks of an outer checkpoint pack the arguments: it computes them again, too.
        self.arguments = [_save(argument) for argument in arguments]
        self.keywords = {name: _save(argument) for name, argument in keywords.items()}
        self.recompute_context = recompute_context
        # With the values of all flags, also of those that the process sets.
        self.state: ThreadState = capture(pin=True)
        self.random_state: _GeneratorStates | None = None
        self.early_stop = True
        self.checks_facts = True
        self.is_complete = False
        self.saved: list[weakref.ref[_Saved]] = []
        self.facts: list[_Facts] = []
        self.sites: list[str] | None = None

    def pack(self, tensor: Tensor) -> _Saved:
        saved = _Saved()
        self.saved.append(weakref.ref(saved))
        self.facts.append(_facts(tensor))
        if self.sites is not None:
            self.sites.append(_site())
        return saved

    def unpack(self, saved: _Saved) -> Tensor:
        backward_pass: object = _backward_pass() or _NoPass()
        if backward_pass not in saved.recomputed:
            self.recompute(backward_pass)
        found = saved.recomputed.get(backward_pass)
        if found is None:
            raise CheckpointError("checkpoint: the recomputation did not compute a tensor that is needed")
        return found

    def recompute(self, backward_pass: object) -> None:
        arguments = [_unpack(argument) for argument in self.arguments]
        keywords = {name: _unpack(argument) for name, argument in self.keywords.items()}
        recomputation = _Recomputation(self, backward_pass)
        before = _GeneratorStates()
        try:
            with self.state.apply(), enable_grad():
                if self.random_state is not None:
                    self.random_state.restore()
                with saved_tensors_hooks(recomputation.pack, _identity), self.recompute_context:
                    self.function(*arguments, **keywords)
        except _EndRecomputation as end:
            if end.owner is not recomputation:
                raise
            # The frames of the traceback refer to tensors of the recomputation.
            end.__traceback__ = None
        finally:
            if self.random_state is not None:
                before.restore()
        recomputation.check()


class _Recomputation:
    """The tensors of one recomputation."""

    def __init__(self, checkpoint: _Checkpoint, backward_pass: object) -> None:
        self.checkpoint = checkpoint
        self.backward_pass = backward_pass
        self.count = 0
        self.different: list[tuple[int, _Facts]] = []
        self.sites: list[str] | None = None if checkpoint.sites is None else []

    def pack(self, tensor: Tensor) -> Tensor:
        checkpoint, index = self.checkpoint, self.count
        needed = len(checkpoint.saved)
        if self.sites is not None:
            self.sites.append(_site())
        if index >= needed and checkpoint.early_stop:
            # The function has caught the exception.
            raise _EndRecomputation(self)
        self.count += 1
        if index >= needed:
            # A function that itself starts a backward pass has not saved all tensors of the first call yet.
            if checkpoint.is_complete:
                raise self.error(f"the recomputation saves more than the {needed} tensors of the first call")
            return tensor
        saved = checkpoint.saved[index]()
        if saved is not None:
            saved.recomputed[self.backward_pass] = tensor
            facts = _facts(tensor)
            if facts != checkpoint.facts[index]:
                self.different.append((index, facts))
        if checkpoint.early_stop and self.count == needed:
            raise _EndRecomputation(self)
        return tensor

    def check(self) -> None:
        needed = len(self.checkpoint.saved)
        if self.count < needed:
            raise self.error(
                f"the recomputation saves {self.count} tensors, and the first call has saved {needed}"
            )
        if self.different and self.checkpoint.checks_facts:
            lines = [
                f"tensor {index}: {_text(self.checkpoint.facts[index])}; recomputed: {_text(facts)}"
                for index, facts in self.different
            ]
            raise self.error("\n".join(["recomputed tensors differ from those of the first call:", *lines]))

    def error(self, message: str) -> CheckpointError:
        if self.sites is None or self.checkpoint.sites is None:
            return CheckpointError(f"checkpoint: {message}\ndebug=True lists the lines that save tensors")
        lines = ["the first call has saved tensors at:", *self.checkpoint.sites]
        lines += ["the recomputation has saved tensors at:", *self.sites]
        return CheckpointError("\n".join([f"checkpoint: {message}", *lines]))


class _Options(NamedTuple):
    """How a function is called as a checkpoint: the options of `checkpoint`."""

    context_fn: Callable[[], Contexts]
    preserve_rng_state: bool
    checks_facts: bool
    debug: bool
    early_stop: bool


def _identity(tensor: Tensor) -> Tensor:
    return tensor


def _save(argument: object) -> object:
    return _SavedInput(argument) if isinstance(argument, Tensor) else argument


def _unpack(argument: object) -> object:
    return argument.unpack() if isinstance(argument, _SavedInput) else argument


@overload
def checkpoint(
    function: Callable[..., _Result],
    *args: Any,
    use_reentrant: bool = False,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    preserve_rng_state: bool = True,
    determinism_check: Literal["default", "none"] = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> _Result: ...


@overload
def checkpoint(
    function: None = None,
    *,
    use_reentrant: bool = False,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    preserve_rng_state: bool = True,
    determinism_check: Literal["default", "none"] = "default",
    debug: bool = False,
    early_stop: bool = True,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]: ...


def checkpoint(
    function: Callable[..., Any] | None = None,
    *args: Any,
    use_reentrant: bool = False,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    preserve_rng_state: bool = True,
    determinism_check: Literal["default", "none"] = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function, and recompute its intermediate results in the backward pass.

    The tensors that the operations of the function save are not stored. The first of them that a backward
    pass needs makes it call the function again, with the same arguments, in the gradient modes, flags,
    devices, streams and other scopes of the first call. Checkpoints may be nested. If gradients are not
    recorded, the function is only called.

    Without a function it returns a decorator, which makes each call of a function a checkpoint with these
    options.

    Args:
        function: The function. Each call must save the same tensors. None returns a decorator.
        args: Positional arguments of the function. Tensors among them must not be changed in place.
        use_reentrant: Must be False. PyTorch's other implementation is not available.
        context_fn: Returns a context manager for the first call and one for the recomputations.
        preserve_rng_state: Whether a recomputation draws the random numbers of the first call.
        determinism_check: `"default"` checks that recomputed tensors have the shapes, dtypes and devices of
            those of the first call. `"none"` checks only their number.
        debug: Whether errors list the source lines that save tensors.
        early_stop: Whether a recomputation stops after the last tensor that the backward pass needs.
        kwargs: Keyword arguments of the function.

    Returns:
        The result of the function, or the decorator.

    Raises:
        ArgumentError: `use_reentrant` is True, or `determinism_check` has another value.
        ArgumentError: Without a function: an argument has another name.
        CheckpointError: In the backward pass: the recomputation saves other tensors than the first call.
        RuntimeError: In the backward pass: an argument was changed in place.
        RuntimeError: Hooks of saved tensors are disabled.
        TypeError: An argument has another type.

    Example:
        >>> import interlock
        >>> from interlock.utils.checkpoint import checkpoint
        >>> def block(x):
        ...     print("called")
        ...     return (x * x).exp()
        >>> x = interlock.zeros(1, requires_grad=True)
        >>> y = checkpoint(block, x)
        called
        >>> y.backward()
        called
        >>> @checkpoint(preserve_rng_state=False)
        ... def square(x):
        ...     print("called")
        ...     return x * x
        >>> z = square(x)
        called
        >>> z.backward()
        called

    """
    is_decorator = function is None and not args
    if not is_decorator and not callable(function):
        raise TypeError(f"checkpoint: function must be callable, got {type(function).__name__}")
    if not callable(context_fn):
        raise TypeError(f"checkpoint: context_fn must be callable, got {type(context_fn).__name__}")
    for name, value in {
        "use_reentrant": use_reentrant,
        "preserve_rng_state": preserve_rng_state,
        "debug": debug,
        "early_stop": early_stop,
    }.items():
        as_bool(f"checkpoint: {name}", value)
    if use_reentrant:
        raise ArgumentError(
            "checkpoint: use_reentrant must be False, got True. Non-reentrant checkpoints return the same "
            "gradients, and also support autograd.grad and keyword arguments"
        )
    if determinism_check not in ("default", "none"):
        raise ArgumentError(
            f'checkpoint: determinism_check must be "default" or "none", got {shown(determinism_check)}'
        )
    options = _Options(context_fn, preserve_rng_state, determinism_check == "default", debug, early_stop)
    if function is not None:
        return _run(function, args, kwargs, options)
    if kwargs:
        names = ", ".join(kwargs)
        raise ArgumentError(f"checkpoint: without a function the arguments must be options, got {names}")
    return functools.partial(_decorate, options)


def _decorate(options: _Options, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function each of whose calls is a checkpoint."""
    if not callable(function):
        raise TypeError(f"checkpoint: function must be callable, got {type(function).__name__}")

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _run(function, args, kwargs, options)

    return wrapper


def _run(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: _Options
) -> Any:
    """Call a function as a checkpoint."""
    if not is_grad_enabled():
        return function(*args, **kwargs)
    forward_context, recompute_context = options.context_fn()
    call = _Checkpoint(function, args, kwargs, recompute_context)
    if options.preserve_rng_state:
        call.random_state = _GeneratorStates()
    chosen_stop, chosen_debug = _early_stop.get(), _debug.get()
    call.early_stop = options.early_stop if chosen_stop is None else chosen_stop
    call.checks_facts = options.checks_facts
    if options.debug if chosen_debug is None else chosen_debug:
        call.sites = []
    with saved_tensors_hooks(call.pack, call.unpack), forward_context:
        result = function(*args, **kwargs)
        call.is_complete = True
        return result
    # mypy knows that the context of the hooks suppresses nothing; `forward_context` may.
    raise RuntimeError("checkpoint: context_fn must not return a context manager that suppresses exceptions")
