"""The modes and their effects on the state of a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import interlock
from interlock.autograd import grad_mode

State = tuple[bool, bool]
START: State = (True, False)


def public_modes() -> State:
    """Return whether grad mode and inference mode are enabled."""
    return interlock.is_grad_enabled(), interlock.is_inference_mode_enabled()


def all_modes() -> tuple[bool, ...]:
    """Return every mode bit of this thread; private bits are read by a write that is reverted at once."""
    hidden = []
    for kind in HIDDEN:
        probe = kind(True)
        hidden.append(probe.prev)
        probe.__exit__(None, None, None)
    return (*public_modes(), *hidden)


class Mode(NamedTuple):
    """A constructor, and the state inside a scope that is entered from the default state."""

    make: Callable[[], Any]
    inside: State


MODES = {
    "no_grad": Mode(lambda: interlock.no_grad(), (False, False)),
    "enable_grad": Mode(lambda: interlock.enable_grad(), (True, False)),
    "set_grad_enabled(True)": Mode(lambda: interlock.set_grad_enabled(True), (True, False)),
    "set_grad_enabled(False)": Mode(lambda: interlock.set_grad_enabled(False), (False, False)),
    "inference_mode": Mode(lambda: interlock.inference_mode(), (False, True)),
    "inference_mode(True)": Mode(lambda: interlock.inference_mode(True), (False, True)),
    "inference_mode(False)": Mode(lambda: interlock.inference_mode(False), (True, False)),
}
BARE = {
    "no_grad": (interlock.no_grad, (False, False)),
    "enable_grad": (interlock.enable_grad, (True, False)),
    "inference_mode": (interlock.inference_mode, (False, True)),
}
HIDDEN: tuple[Any, ...] = (
    grad_mode.set_multithreading_enabled,
    grad_mode._force_original_view_tracking,
    grad_mode.enforce_grad_layout_policy,
)
SETTERS: dict[str, Any] = {
    "set_grad_enabled": interlock.set_grad_enabled,
    **{kind.__name__: kind for kind in HIDDEN},
}
