"""The flag that fills uninitialized memory, as in `torch.utils.deterministic`.

`fill_uninitialized_memory` is the flag `backends.deterministic_fill_uninitialized_memory`: whether `empty`
and similar functions fill their result with NaN, the largest integer or True while `deterministic_algorithms`
is set.

Example:
    >>> import interlock
    >>> from interlock.utils import deterministic
    >>> with interlock.backends.override({"deterministic_algorithms": True}):
    ...     interlock.empty(2)
    tensor([nan, nan])
    >>> deterministic.fill_uninitialized_memory
    True

"""

import sys
from types import ModuleType

from interlock import backends

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool


class _DeterministicModule(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory that is not initialized is filled under `deterministic_algorithms`."""
        return backends.deterministic_fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        backends.deterministic_fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _DeterministicModule
