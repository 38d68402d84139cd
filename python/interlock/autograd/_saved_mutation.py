"""The scope of `allow_mutation_on_saved_tensors`, which copies saved tensors before they are changed.

A build without the tensor runtime lacks this module.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any, TypeAlias

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.autograd import no_grad
from interlock._core.tensor import Tensor, _ChangeObservation, _storage_version, saved_tensors_hooks
from interlock.errors import SavedTensorError

__all__ = ["SavedTensors", "mutation_scope"]


class _Handle:
    """Replaces a tensor that a node saves. The node owns it."""

    __slots__ = ("__weakref__",)


_StorageVersion: TypeAlias = tuple[int, int]
# The storage, its version, and what distinguishes the tensors on it.
_SavedKey: TypeAlias = tuple[int, int, int, tuple[int, ...], tuple[int, ...], object]


class SavedTensors:
    """The tensors that nodes have saved in a scope of `allow_mutation_on_saved_tensors`."""

    original: MutableMapping[_Handle, Tensor]
    """The tensors that have not been changed since they were saved."""
    cloned: MutableMapping[_Handle, Tensor]
    """The copies of those that have been changed."""
    tid_to_weakhandle: MutableMapping[_SavedKey, _Handle]
    """The handle of each unchanged tensor, by its storage, version and layout."""
    sid_to_tid: dict[_StorageVersion, set[_SavedKey]]
    """The keys of the unchanged tensors on each version of a storage."""

    def __init__(self) -> None:
        self.original = weakref.WeakKeyDictionary()
        self.cloned = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle = weakref.WeakValueDictionary()
        self.sid_to_tid = {}
        self._is_open = True
        # Other threads may save and change the tensors, too.
        self._lock: Any = threading.RLock()
        _all.add(self)

    def clear(self) -> None:
        """Forget all tensors. A backward pass that needs one of them then raises SavedTensorError."""
        with self._lock:
            for each in (self.original, self.cloned, self.tid_to_weakhandle, self.sid_to_tid):
                each.clear()

    def _pack(self, tensor: Tensor) -> _Handle:
        storage = _storage_version(tensor)
        if storage is None:
            raise SavedTensorError("allow_mutation_on_saved_tensors: an inference tensor cannot be saved")
        key = (*storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
        with self._lock:
            handle = self.tid_to_weakhandle.get(key)
            if handle is None:
                handle = _Handle()
                self.tid_to_weakhandle[key] = handle
                self.original[handle] = tensor
                self._forget_released_tensors()
            self.sid_to_tid.setdefault(storage, set()).add(key)
            return handle

    def _unpack(self, handle: _Handle) -> Tensor:
        with self._lock:
            found = self.cloned.get(handle)
            if found is None:
                found = self.original.get(handle)
        if found is None:
            raise SavedTensorError(
                "allow_mutation_on_saved_tensors: the backward pass must run in the scope that has saved its "
                "tensors, which has ended"
            )
        return found

    def _before_change(self, storage: _StorageVersion) -> None:
        with self._lock:
            keys = tuple(self.sid_to_tid.get(storage, ()))
            if not keys:
                return
            with no_grad():
                for key in keys:
                    handle = self.tid_to_weakhandle.get(key)
                    if handle is not None and handle in self.original:
                        self.cloned[handle] = self.original[handle].clone()
                        del self.original[handle]
            # Only now: if the memory for a copy is missing, the tensor is not changed. No other tensor may
            # get these keys, because the storage may be released and its address used again.
            for key in keys:
                self.tid_to_weakhandle.pop(key, None)
            del self.sid_to_tid[storage]

    def _forget_released_tensors(self) -> None:
        """Remove the keys of tensors that no node needs, once they are the majority."""
        if len(self.sid_to_tid) <= 2 * len(self.tid_to_weakhandle) + 16:
            return
        needed = {key[:2] for key in self.tid_to_weakhandle}
        self.sid_to_tid = {storage: keys for storage, keys in self.sid_to_tid.items() if storage in needed}

    def _close(self) -> None:
        self._is_open = False
        self.clear()


_all: weakref.WeakSet[SavedTensors] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """Release the locks that other threads of the parent process have acquired."""
    for each in _all:
        if not each._lock._is_owned():
            each._lock._at_fork_reinit()


os.register_at_fork(after_in_child=_after_fork_in_child)

# The scope of `allow_mutation_on_saved_tensors` that was entered last, which may have ended.
_mutation: contextvars.ContextVar[SavedTensors | None] = contextvars.ContextVar(
    "allow_mutation_on_saved_tensors", default=None
)


@contextlib.contextmanager
def mutation_scope() -> Iterator[SavedTensors]:
    """Copy saved tensors before they are changed; see `allow_mutation_on_saved_tensors`."""
    outer = _mutation.get()
    if outer is not None and outer._is_open:
        raise RuntimeError("allow_mutation_on_saved_tensors: must not be entered inside another one")
    context = SavedTensors()
    observation = _ChangeObservation(context._before_change)
    try:
        with saved_tensors_hooks(context._pack, context._unpack):
            _mutation.set(context)
            yield context
    finally:
        # First, because an interrupt may come after each call.
        context._is_open = False
        observation.end()
        context._close()
