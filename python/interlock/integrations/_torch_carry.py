"""Modes of PyTorch that captured states and tasks carry, and that obey interlock."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from interlock import autograd, backends, settings
from interlock._core.autograd import on_setters
from interlock._core.state import BegunAtCreation
from interlock._homes import set_home
from interlock.errors import SettingWarning
from interlock.integrations import _torch_modes
from interlock.integrations._of_thread import OfThread
from interlock.settings import Setting, _registry
from interlock.settings._locks import lock_of
from interlock.settings._setting import converted, read
from interlock.state import register_carried

_PREFIX = "torch.backends."
_OTHER_NAMES = {
    "deterministic_algorithms": "torch.deterministic_algorithms",
    "deterministic_algorithms_warn_only": "torch.deterministic_algorithms_warn_only",
    "deterministic_fill_uninitialized_memory": "torch.utils.deterministic.fill_uninitialized_memory",
    "cuda.blas_library": "torch.backends.cuda.preferred_blas_library",
    "cuda.linalg_library": "torch.backends.cuda.preferred_linalg_library",
    "cuda.rocm_fa_library": "torch.backends.cuda.preferred_rocm_fa_library",
}
"""PyTorch's settings of flags that have other names there."""


class Integration(BegunAtCreation):
    """An integration that is active until `release` is called or the `with` block ends.

    Args:
        name: The function that has made it, for `repr`.
        release: Called once at the end.

    """

    def __init__(self, name: str, release: Callable[[], None]) -> None:
        self._name = name
        self._release: Callable[[], None] | None = release

    def __repr__(self) -> str:
        return f"<{self._name}: {'released' if self._release is None else 'active'}>"

    def release(self) -> None:
        """End the integration. A second call does nothing."""
        release, self._release = self._release, None
        if release is not None:
            release()

    def _exit(self, _exited: list[None]) -> None:
        self.release()


set_home("interlock.integrations.torch", Integration)


class _Shared:
    """Something that is active while at least one integration uses it."""

    def __init__(self, begin: Callable[[], Callable[[], None]]) -> None:
        self._begin = begin
        self._end: Callable[[], None] | None = None
        self._uses = 0
        self._lock = lock_of(f"{__name__}.{begin.__name__}")

    def use(self, name: str) -> Integration:
        with self._lock:
            if self._end is None:
                self._end = self._begin()
            self._uses += 1
        return Integration(name, self._leave)

    def _leave(self) -> None:
        with self._lock:
            self._uses -= 1
            if self._uses or self._end is None:
                return
            # With the lock, because the next use begins with what this end leaves.
            end, self._end = self._end, None
            end()


def _begin_carry() -> Callable[[], None]:
    importlib.import_module("torch")
    return register_carried("torch", _torch_modes.save, _torch_modes.restore).remove


_carry = _Shared(_begin_carry)


def carry() -> Integration:
    """Let captured states and tasks carry the modes that PyTorch stores for each thread.

    These are gradient mode, inference mode, multithreading of backward passes, view replay, the policy for
    layouts of gradients, and autocast of each type of device. PyTorch is imported. What `interlock.capture`
    returns has them: `apply`, `run`, `wrap` and `interlock.Executor` set them on another thread, and put
    back what was there. Under `interlock.aio`, and from Python 3.14 under plain asyncio, each task has modes
    of its own, which starts with those of its creator: at its creation under `interlock.aio`, and when the
    creator is next suspended under plain asyncio. The default device is a stack in PyTorch, and is not
    carried.

    Returns:
        The integration. It ends with its `release` method or a `with` block, when each call has been
        released.

    Raises:
        ImportError: PyTorch is not installed.

    Example:
        >>> import interlock
        >>> from interlock.integrations.torch import carry  # doctest: +SKIP
        >>> import torch  # doctest: +SKIP
        >>> with carry(), torch.no_grad(), interlock.Executor() as pool:  # doctest: +SKIP
        ...     pool.submit(torch.is_grad_enabled).result()
        False

    """
    return _carry.use("carry")


_Setter = tuple[int, bool, bool]
"""The number of a scope that sets a mode, its value, and the value that PyTorch had before it."""

_own: OfThread[dict[str, list[_Setter]]] = OfThread()
"""What sets each of PyTorch's modes on a thread, outermost first; None if interlock sets none.

A value is replaced, and never changed: tasks share it.
"""


# Functions of their own, because the names of the functions identify what is carried.
def _save_own() -> dict[str, list[_Setter]] | None:
    return _own.get()


def _restore_own(own: dict[str, list[_Setter]] | None) -> None:
    _own.set(own)


def _follow_modes(setters: dict[str, list[tuple[int, bool]]]) -> None:
    """Set the modes of scopes that were entered, and restore those before scopes that were exited."""
    present, before = _torch_modes.read_modes(), _own.get() or {}
    own, target = {}, {}
    for name, value in present.items():
        own[name], target[name] = _compared(before.get(name, []), setters.get(name, []), value)
    _own.set(own if any(own.values()) else None)
    if target != present:
        _torch_modes.write_modes(target)


def _compared(
    own: list[_Setter], setters: list[tuple[int, bool]], present: bool
) -> tuple[list[_Setter], bool]:
    """Return what sets a mode now, and the value for PyTorch, which code between the scopes may have set."""
    entered = [(number, value) for number, value, _ in own]
    # PyTorch's value before each scope, and the present one: a scope is between two of them.
    values = [before for _, _, before in own] + [present]
    numbers = {number for number, _ in setters}
    for index in reversed(range(len(entered))):
        if entered[index][0] not in numbers:
            del entered[index], values[index + 1]
    for index, setter in enumerate(setters):
        if index == len(entered) or entered[index][0] != setter[0]:
            entered.insert(index, setter)
            values.insert(index + 1, setter[1])
        elif entered[index] != setter:
            entered[index] = setter
            values[index + 1] = setter[1]
    return [(*setter, before) for setter, before in zip(setters, values, strict=False)], values[len(setters)]


def _put_back_modes() -> None:
    """Put back the modes that this thread had of its own."""
    own = _own.get()
    _own.set(None)
    if own:
        before = {name: sets[0][2] for name, sets in own.items() if sets}
        _torch_modes.write_modes(_torch_modes.read_modes() | before)


class _Flags:
    """Writes of interlock's flags to PyTorch's of the same name."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}
        # Those of each open layer: its flags, and writes in it.
        self._overrides: dict[int, list[settings.override]] = {}
        self._lock = lock_of(f"{__name__}.{type(self).__name__}")
        for entry in backends.snapshot():
            if entry.level == "process":
                self._write(entry.name, entry.value)

    def on_change(self, change: backends.FlagChange) -> None:
        """Follow one change."""
        if change.kind == "enter":
            self._override(change.layer, change.values or {})
        elif change.kind == "exit":
            self._exit(change.layer)
        elif change.level == "scope":
            self._override(change.layer, {change.name or "": change.new})
        else:
            self._follow(change.name or "")

    def end(self) -> None:
        """Put back what PyTorch had."""
        for layer in list(self._overrides):
            self._exit(layer)
        for name in list(self._before):
            self._put_back(name)

    def _follow(self, name: str) -> None:
        """Write the value of the process, or put PyTorch's own back if there is none."""
        if _setting(name) is None:
            return
        present = _assigned(name)
        while True:
            if present is None:
                self._put_back(name)
            else:
                self._write(name, present.value)
            # Changes of other threads may be reported in another order than they were made.
            followed, present = present, _assigned(name)
            if present == followed:
                return

    def _write(self, name: str, value: Any) -> None:
        setting = _setting(name)
        if setting is None or setting.set is None:
            return
        with _reported(setting.name):
            with self._lock:
                self._before.setdefault(name, read(setting))
            setting.set(converted("follow", setting, value))

    def _put_back(self, name: str) -> None:
        setting = _setting(name)
        with self._lock:
            if setting is None or setting.set is None or name not in self._before:
                return
            before = self._before.pop(name)
        with _reported(setting.name):
            (setting.restore or setting.set)(before)

    def _override(self, layer: int | None, values: dict[str, Any]) -> None:
        """Hold settings until a layer ends."""
        if layer is None:
            return
        wanted = {}
        for name, value in values.items():
            setting = _setting(name)
            if setting is not None:
                # None is a node of the precision tree that inherits.
                wanted[setting.name] = "none" if value is None else value
        if not wanted:
            return
        with _reported(", ".join(wanted)):
            override = settings.override(wanted, on_conflict="warn")
            override.__enter__()
            with self._lock:
                self._overrides.setdefault(layer, []).append(override)

    def _exit(self, layer: int | None) -> None:
        with self._lock:
            overrides = self._overrides.pop(layer or 0, [])
        for override in reversed(overrides):
            with _reported(", ".join(override._values)):
                override.__exit__(None, None, None)


def _assigned(name: str) -> backends.SnapshotEntry | None:
    """Return what is assigned to a flag for the process; None if nothing is."""
    entries = (entry for entry in backends.snapshot() if entry.name == name)
    return next((entry for entry in entries if entry.level == "process"), None)


def _setting(name: str) -> Setting | None:
    """Return PyTorch's setting with the name of a flag; None if this version has none that can be written."""
    setting = _registry.known(_OTHER_NAMES.get(name, f"{_PREFIX}{name}"))
    return setting if setting is not None and setting.set is not None else None


@contextlib.contextmanager
def _reported(name: str) -> Iterator[None]:
    """Report an exception as a warning: the code that has changed a flag of interlock must not fail."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"follow: {name} is left as it is: {error}", SettingWarning, stacklevel=3)


def _begin_follow() -> Callable[[], None]:
    with contextlib.ExitStack() as stack:
        stack.enter_context(carry())
        stack.enter_context(settings.enable("torch"))
        stack.enter_context(register_carried("torch, below interlock", _save_own, _restore_own))
        flags = _Flags()
        stack.callback(flags.end)
        stack.enter_context(backends.on_change(flags.on_change))
        stack.callback(_put_back_modes)
        stack.enter_context(on_setters(_follow_modes))
        # The thread that calls `follow` may have scopes open.
        autograd.is_grad_enabled()
        return stack.pop_all().close


_follow = _Shared(_begin_follow)


def follow() -> Integration:
    """Let PyTorch obey interlock: modes on each thread, and flags of the process.

    Where a scope, a guard, a write or the process sets a mode in interlock, PyTorch's mode is set on that
    thread, also by Rust and C code. Where nothing sets it any more, PyTorch has its own value again. Anomaly
    mode is not followed: it is a mode of a thread here and of the process there.

    Values that are assigned to flags for the process are written to PyTorch's flags of the same name below
    `torch.backends`, to those that `torch.use_deterministic_algorithms` sets, and to the preferred libraries,
    now and at each change. A scope over a flag becomes an `interlock.settings.override`: the process has the
    value while the scope is open. If another scope holds the flag with another value, the flag does not
    change, and a `SettingWarning` is issued.

    `follow` does what `carry` does, and enables the settings of PyTorch, which is imported.

    Returns:
        The integration. It ends with its `release` method or a `with` block, when each call has been
        released; PyTorch then has the flags of before, and the thread that releases it its own modes.

    Raises:
        ImportError: PyTorch is not installed.

    Example:
        >>> import interlock
        >>> from interlock.integrations.torch import follow  # doctest: +SKIP
        >>> import torch  # doctest: +SKIP
        >>> with follow(), interlock.no_grad():  # doctest: +SKIP
        ...     torch.is_grad_enabled()
        False

    """
    return _follow.use("follow")
