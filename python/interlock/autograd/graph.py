"""The autograd graph: its nodes and edges, hooks of nodes and of several tensors, and hooks of saved tensors.

A build without the tensor runtime lacks this module.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, overload

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._arguments import as_bool
from interlock._core.accelerator import device
from interlock._core.tensor import (
    Node,
    RemovableHandle,
    Tensor,
    _gradient_edge,
    _register_multi_grad_hook,
    _SavedTensorsHooksDisabled,
    increment_version,
    node_creation_hook,
    queue_callback,
    saved_tensors_hooks,
    set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from interlock._homes import set_home as _set_home
from interlock._scope_decorator import decorate
from interlock.autograd._gradient_edge import GradientEdge
from interlock.errors import ArgumentError

if TYPE_CHECKING:
    from interlock.autograd._saved_mutation import SavedTensors
else:
    # Its module is imported at the first use.
    SavedTensors = Any

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "queue_callback",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_set_home(__name__, GradientEdge)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the autograd graph where the gradient of a tensor is computed.

    `autograd.grad(loss, get_gradient_edge(x))` equals `autograd.grad(loss, x)`, also after `x` was deleted or
    changed in place.

    Args:
        tensor: A tensor that requires grad.

    Raises:
        RuntimeError: The tensor does not require grad.
        TypeError: `tensor` is not a tensor.

    Example:
        >>> import interlock
        >>> x = interlock.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> edge = interlock.autograd.graph.get_gradient_edge(y)
        >>> loss = y * y
        >>> del y
        >>> interlock.autograd.grad(loss, edge)
        (tensor([4.]),)

    """
    return GradientEdge(*_gradient_edge(tensor))


@overload
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], object], *, mode: Literal["all"] = "all"
) -> RemovableHandle: ...


@overload
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Tensor], object], *, mode: Literal["any"]
) -> RemovableHandle: ...


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., object], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Register a function that a backward pass calls with the gradients of several tensors.

    A pass ignores the tensors that its outputs do not depend on and, if `inputs` are passed to it, those
    whose gradients it does not compute. If backward functions return no gradient for a tensor, the hook is
    called at the end of the pass. A hook that is registered during a pass takes effect in the next one.

    Args:
        tensors: The tensors.
        fn: Called once in each pass that computes a gradient of the tensors. In the mode `"all"` it is called
            after the last of them, with a list that has None for a tensor without a gradient. In the mode
            `"any"` it is called with the first gradient. Its result is ignored, and it must not change the
            gradients.
        mode: `"all"` or `"any"`.

    Returns:
        A handle whose `remove` removes the hook.

    Raises:
        RuntimeError: A tensor does not require grad, in the mode `"all"`. The mode `"any"` ignores it.
        TypeError: `fn` is not callable, or `tensors` is not a sequence of tensors.
        ValueError: `mode` has another value.

    Example:
        >>> import interlock
        >>> from interlock.autograd.graph import register_multi_grad_hook
        >>> x = interlock.ones(1, requires_grad=True)
        >>> y, z = x * 2, x * 3
        >>> handle = register_multi_grad_hook((x, y, z), lambda gradients: print(gradients))
        >>> y.backward()
        [tensor([2.]), tensor([1.]), None]

    """
    return _register_multi_grad_hook(tensors, fn, mode)


class disable_saved_tensors_hooks(_SavedTensorsHooksDisabled):
    """Make `saved_tensors_hooks` and its subclasses raise, for code that they would break.

    A context manager and a decorator. It applies to the context that enters it, to copies of that context,
    and where a captured state is applied. An inner scope replaces the message.

    Args:
        error_message: The message of the RuntimeError.

    Raises:
        RuntimeError: It is entered where hooks are active, with `error_message`.
        TypeError: `error_message` is not a str.

    Example:
        >>> import interlock
        >>> from interlock.autograd import graph
        >>> with graph.disable_saved_tensors_hooks("this model offloads its tensors itself"):
        ...     try:
        ...         with graph.save_on_cpu():
        ...             pass
        ...     except RuntimeError as error:
        ...         print(error)
        this model offloads its tensors itself

    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __repr__(self) -> str:
        return f"disable_saved_tensors_hooks(error_message={self._message!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        # A copy is a new scope that is not open.
        return type(self), (self._message,)

    def __call__(self, function: _Function, /) -> _Function:
        """Return a wrapper of a function that disables hooks during each call."""
        return decorate(self, function)


class save_on_cpu(saved_tensors_hooks):
    """Store the tensors that operations save for the backward pass in CPU memory.

    A context manager. Each tensor is copied back to its device when the backward pass needs it.

    Args:
        pin_memory: Whether the copies are in pinned memory, so that they are asynchronous.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with interlock.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])

    """

    def __init__(self, pin_memory: bool = False) -> None:
        pin_memory = as_bool("save_on_cpu: pin_memory", pin_memory)

        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            copy = tensor.cpu() if tensor.device.type != "cpu" else tensor
            return tensor.device, copy.pin_memory() if pin_memory else copy

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            original, copy = packed
            return copy.to(original, non_blocking=pin_memory)

        self._pin_memory = pin_memory
        super().__init__(pack, unpack)

    def __repr__(self) -> str:
        return f"save_on_cpu(pin_memory={self._pin_memory})"


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedTensors]:
    """Allow in-place changes of tensors that nodes have saved for the backward pass.

    A context manager and a decorator. Before an operation changes a saved tensor, or another tensor on its
    storage, in place, the saved elements are copied, and the backward pass uses the copy. Without it, such a
    backward pass raises RuntimeError. The forward and the backward pass must be inside. Tensors that were
    saved outside, or through inner `saved_tensors_hooks`, are not copied. Changes by other code than
    operations, such as through a NumPy array that shares the memory, are not noticed.

    Returns:
        A context manager whose value has the mappings `original` and `cloned` of the saved tensors, and
        `clear()`. They are empty after the scope.

    Raises:
        RuntimeError: It is entered inside another one, or hooks of saved tensors are disabled.
        SavedTensorError: In a backward pass after the scope.

    Example:
        >>> import interlock
        >>> from interlock.autograd.graph import allow_mutation_on_saved_tensors
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with allow_mutation_on_saved_tensors() as saved:
        ...     y = x * 3
        ...     z = (y * y).sum()
        ...     y = y.zero_()
        ...     len(saved.cloned)
        ...     z.backward()
        1
        >>> x.grad
        tensor([18., 18.])

    """
    # Imported here, because these modules would add to the time of `import interlock`.
    from interlock.autograd._saved_mutation import mutation_scope

    with mutation_scope() as saved:
        yield saved


def region_activation_memory_budget(budget: float) -> NoReturn:
    """Raise RuntimeError: a memory budget of a region needs a compiler.

    In PyTorch it sets the share of activations that a region compiled by `torch.compile` stores, and outside
    of one it raises RuntimeError after it has checked its argument. interlock runs operations as they are
    called, so it always raises. `utils.checkpoint.checkpoint` stores no activations of a function, which is a
    budget of 0.

    Args:
        budget: A number from 0 to 1.

    Raises:
        RuntimeError: Always, for a valid argument.
        ArgumentError: `budget` is not from 0 to 1.
        TypeError: `budget` is not a number.

    """
    given: object = budget
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(
            f"region_activation_memory_budget: budget must be a number, got {type(given).__name__}"
        )
    if not 0 <= budget <= 1:
        raise ArgumentError(f"region_activation_memory_budget: budget must be from 0 to 1, got {budget}")
    raise RuntimeError(
        "region_activation_memory_budget: must be called inside of torch.compile, which interlock lacks; "
        "utils.checkpoint.checkpoint stores no activations of a function"
    )
