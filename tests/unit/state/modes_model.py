"""The model of modes with several states at once: of threads and of tasks with their own state.

`tests/models/modes.py` has one state in its variable `state`, an object for each thread. Here all states are
created and used on the thread of the test; the state of the current step is assigned to that variable. The
rules are those of the model; added are the owners of states, and captured states:

* A captured state is one word. Applied, it is a layer that sets every bit. Installed, it is a new base layer,
  which discards writes into the old one.
* A task with its own state starts from the effective modes of its creator, without further layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.unit.state.load_model import load

MODEL: Any = load("modes")
T = TypeVar("T")

NAMES = {
    "grad": MODEL.GRAD,
    "inference": MODEL.INFERENCE,
    "multithreading": MODEL.MULTITHREADING,
    "view_replay": MODEL.VIEW_REPLAY,
    "layout_policy": MODEL.LAYOUT_POLICY,
}
"""The bits that interlock shows of a captured state. It has no forward mode, the model's sixth bit."""


class Captured(MODEL.Mode):  # type: ignore[misc]
    """The scope of a captured state."""

    mask = MODEL.EVERY_BIT

    def __init__(self, word: int) -> None:
        super().__init__()
        self.value = word

    def clone(self) -> Captured:
        return Captured(self.value)


def new_state(word: int = MODEL.DEFAULT) -> Any:
    """Return the state of a new thread, or of a task that starts from these bits."""
    state = MODEL.ThreadState()
    state.layers[0].value = word
    return state


@contextmanager
def activated(state: Any) -> Iterator[None]:
    """Let the model's modes use this state.

    An activated state first removes the layers whose scopes other threads have exited: interlock does this in
    a capture, too, and the state machine captures at each step.
    """
    before = MODEL.state
    MODEL.state = state
    state.catch_up()
    try:
        yield
    finally:
        state.catch_up()
        MODEL.state = before
        before.catch_up()


def capture() -> int:
    """Return all effective bits."""
    word: int = MODEL.state.word()
    return word


def install(word: int) -> None:
    """Replace the base layer of the active state."""
    MODEL.state.layers[0] = MODEL.Layer(MODEL.EVERY_BIT, word)


def run(word: int, action: Callable[[], T]) -> T:
    """Call `action` with an applied captured state."""
    with Captured(word):
        return action()


def shown(word: int) -> str:
    """Return the bits in the format of interlock's captured states."""
    modes = ", ".join(f"{name}={bool(word & bit)}" for name, bit in NAMES.items())
    # The model has no anomaly mode, and the machine does not change it.
    return f"ThreadState({modes}, anomaly=False, anomaly_check_nan=True)"


def read_only(state: Any) -> tuple[bool, bool]:
    """Return the two public modes as a plain read does, which removes no remotely exited layers."""
    word = 0
    for layer in state.layers:
        word = word & ~layer.mask | layer.value
    return bool(word & MODEL.GRAD), bool(word & MODEL.INFERENCE)
