"""The initializer of the worker processes of PyTorch's `DataLoader`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from interlock._quote import shown

if TYPE_CHECKING:
    from interlock.integrations._portable import Portable


class WorkerInitializer:
    """Installs a state in a worker, then calls the program's own function. It can be pickled.

    Args:
        state: The state.
        worker_init_fn: The program's function, which gets the number of the worker; None for none.

    """

    def __init__(self, state: Portable, worker_init_fn: Callable[[int], object] | None) -> None:
        if worker_init_fn is not None and not callable(worker_init_fn):
            raise TypeError(
                f"dataloader: worker_init_fn must be callable or None, got {shown(worker_init_fn)}"
            )
        self._state = state
        self._worker_init_fn = worker_init_fn

    def __call__(self, worker_id: int) -> None:
        self._state.install()
        if self._worker_init_fn is not None:
            self._worker_init_fn(worker_id)
