"""Memory that functions on streams declare to use: `declare_uses`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeAlias

from interlock._core.accelerator import Buffer
from interlock._features import HAS_TENSORS
from interlock._quote import shown

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import Tensor

    _Memory: TypeAlias = Buffer | Tensor | tuple[int, int]
else:
    _Memory = Buffer | tuple[int, int]

_P = ParamSpec("_P")

_LARGEST = 2**64 - 1


class declare_uses(Generic[_P]):
    """A function for `launch` that declares which memory it reads and writes.

    `interlock.testing.detect_races` then checks its accesses, which it cannot observe otherwise. The memory
    is kept until the function has run.

    Args:
        function: The function.
        reads: Buffers, tensors and pairs of an address and a number of bytes that it reads.
        writes: Those that it writes.

    Raises:
        TypeError: `function` is not callable, `reads` or `writes` is no iterable, or an element is none of
            these.
        ValueError: An address or a number of bytes is negative, or above 2**64 - 1.

    Example:
        >>> import interlock
        >>> from interlock import accelerator, testing
        >>> accelerator.use("host")
        >>> buffer = accelerator.memory.Buffer(4).fill_(7)
        >>> stream, seen = interlock.Stream(), []
        >>> read = accelerator.declare_uses(lambda: seen.append(bytes(buffer)), reads=[buffer])
        >>> with testing.detect_races() as races:
        ...     _ = buffer.fill_(8)
        ...     accelerator.launch(stream, read)
        >>> [race.second.access for race in races]
        ['read']

    """

    def __init__(
        self,
        function: Callable[_P, object],
        *,
        reads: Iterable[_Memory] = (),
        writes: Iterable[_Memory] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"accelerator.declare_uses: function must be callable, got {shown(function)}")
        self._function = function
        # Errors contain the name of the function.
        functools.update_wrapper(self, function)
        # Kept until the function has run.
        self._memory = (_listed("reads", reads), _listed("writes", writes))
        self._uses = [
            (*_bytes_of(memory), is_written)
            for group, is_written in zip(self._memory, (False, True), strict=True)
            for memory in group
        ]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> object:
        """Call the function."""
        return self._function(*args, **kwargs)


def _listed(argument: str, memory: Iterable[_Memory]) -> tuple[_Memory, ...]:
    if not isinstance(memory, Iterable):
        raise TypeError(
            f"accelerator.declare_uses: {argument} must be an iterable of memory, got {shown(memory)}"
        )
    return tuple(memory)


def _bytes_of(memory: _Memory) -> tuple[int, int]:
    """Return the address and the number of bytes of memory."""
    if isinstance(memory, Buffer):
        return memory.data_ptr(), memory.nbytes
    if HAS_TENSORS and isinstance(memory, Tensor):
        last = sum((size - 1) * step for size, step in zip(memory.shape, memory.stride(), strict=True))
        return memory.data_ptr(), (last + 1) * memory.element_size() if memory.numel() else 0
    if isinstance(memory, tuple) and len(memory) == 2 and all(type(value) is int for value in memory):
        if min(memory) < 0 or max(memory) > _LARGEST:
            raise ValueError(
                "accelerator.declare_uses: an address and a size must be from 0 to 2**64 - 1, "
                f"got {shown(memory)}"
            )
        return memory
    raise TypeError(
        "accelerator.declare_uses: each element must be a Buffer, a Tensor, or a tuple of an address and a "
        f"number of bytes, got {shown(memory)}"
    )
