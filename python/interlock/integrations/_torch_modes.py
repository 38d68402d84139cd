"""The modes that PyTorch stores for each thread: reading them, and setting them on any thread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from interlock.integrations._of_thread import OfThread

AUTOCAST_DEVICES = ("cpu", "cuda", "mps", "xpu")


class Modes(NamedTuple):
    """The modes of a thread."""

    inference: bool
    grad: bool
    multithreading: bool
    view_replay: bool
    layout_policy: bool
    autocast: tuple[tuple[bool, Any], ...]
    """Whether operations on each type of device choose their dtype, and the dtype."""
    autocast_cache: bool

    @property
    def uses_autocast(self) -> bool:
        """Whether it is on for any type of device."""
        (cpu, _), (cuda, _), (mps, _), (xpu, _) = self.autocast
        return cpu or cuda or mps or xpu


_guard: OfThread[Any] = OfThread()
"""The object with which this module has set the inference mode of a thread; None if it has not."""


def _torch() -> ModuleType:
    return sys.modules["torch"]


_Switch = tuple[Callable[[], bool], Callable[[bool], object]]


@cache
def _switches() -> dict[str, _Switch]:
    """Return how each mode but inference mode is read and set."""
    native = _torch()._C
    return {
        "grad": (native.is_grad_enabled, native._set_grad_enabled),
        "multithreading": (native._is_multithreading_enabled, native._set_multithreading_enabled),
        "view_replay": (native._is_view_replay_enabled, native._set_view_replay_enabled),
        "layout_policy": (
            # Since 2.13; an older version has the policy always.
            getattr(native, "_is_grad_layout_enforcement_enabled", lambda: True),
            getattr(native, "_set_grad_layout_enforcement_enabled", lambda _: None),
        ),
    }


# Equal modes are one object, which is not restored where a thread has it.
_known: dict[Modes, Modes] = {}


def save() -> Modes:
    """Return the modes of this thread. CUDA is not initialized."""
    # Called twice for each step of a task, so without loops.
    native = _torch()._C
    grad, multithreading, view_replay, layout_policy = _switches().values()
    is_on, dtype = native.is_autocast_enabled, native.get_autocast_dtype
    modes = Modes(
        native.is_inference_mode_enabled(),
        grad[0](),
        multithreading[0](),
        view_replay[0](),
        layout_policy[0](),
        (
            (is_on("cpu"), dtype("cpu")),
            (is_on("cuda"), dtype("cuda")),
            (is_on("mps"), dtype("mps")),
            (is_on("xpu"), dtype("xpu")),
        ),
        native.is_autocast_cache_enabled(),
    )
    return _known.setdefault(modes, modes)


def restore(wanted: Modes) -> None:
    """Set the modes of this thread."""
    torch = _torch()
    present = save()
    if present == wanted:
        return
    uses_autocast = present.uses_autocast or wanted.uses_autocast
    if _guard.get() is not None or present.inference != wanted.inference:
        set_inference(wanted.inference)
        # That has changed the others, and whether autocast is on.
        present = save()
    for name, (_, write) in _switches().items():
        if getattr(present, name) != getattr(wanted, name):
            write(getattr(wanted, name))
    if present.autocast != wanted.autocast:
        for device, (on, dtype) in zip(AUTOCAST_DEVICES, wanted.autocast, strict=True):
            torch.set_autocast_enabled(device, on)
            torch.set_autocast_dtype(device, dtype)
    if present.autocast_cache != wanted.autocast_cache:
        torch.set_autocast_cache_enabled(wanted.autocast_cache)
    if uses_autocast:
        # It has converted weights of the code that ran before, with the history of that.
        torch.clear_autocast_cache()


def set_inference(on: bool) -> None:
    """Set the inference mode of this thread.

    PyTorch has no function for it, only guards that put back what they found. So an own guard ends first; in
    another order, guards of the program that end meanwhile leave a wrong mode.
    """
    torch = _torch()
    own = _guard.get()
    if own is not None:
        own.__exit__(None, None, None)
        _guard.set(None)
    if torch.is_inference_mode_enabled() != on:
        guard = torch._C._InferenceMode(on)
        guard.__enter__()
        _guard.set(guard)


def read_modes() -> dict[str, bool]:
    """Return the modes that interlock has too, by interlock's names."""
    switches = {name: read() for name, (read, _) in _switches().items()}
    return {"inference": _torch().is_inference_mode_enabled(), **switches}


def write_modes(wanted: dict[str, bool]) -> None:
    """Set modes by interlock's names, those that differ."""
    torch = _torch()
    if wanted["inference"] != torch.is_inference_mode_enabled():
        # The guards of inference mode also put back whether autocast was on.
        autocast = [torch.is_autocast_enabled(each) for each in AUTOCAST_DEVICES]
        set_inference(wanted["inference"])
        for device, on in zip(AUTOCAST_DEVICES, autocast, strict=True):
            if torch.is_autocast_enabled(device) != on:
                torch.set_autocast_enabled(device, on)
    for name, (read, write) in _switches().items():
        if read() != wanted[name]:
            write(wanted[name])
