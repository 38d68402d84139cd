"""The model of modes with several states at once: those of threads, and those of tasks that have their own.

`tests/models/modes.py` has one state in its variable `state`, an object for each thread. Here every state is
made and used on the thread of the test, and takes its turn in that variable while a step runs in it. So the
rules stay the model's; what is added is who has a state, and captured states:

* A captured state is one word. Applied, it is a layer that decides every bit. Installed, it is a new base: a
  write into the old one went with it.
* A task with a state of its own starts from what its maker sees, and has no layer yet.
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
"""What interlock shows of a captured state. It has no forward mode, which is the model's sixth bit."""


class Captured(MODEL.Mode):  # type: ignore[misc]
    """The scope of a captured state."""

    mask = MODEL.EVERY_BIT

    def __init__(self, word: int) -> None:
        super().__init__()
        self.value = word

    def clone(self) -> Captured:
        return Captured(self.value)


def new_state(word: int = MODEL.DEFAULT) -> Any:
    """The state of a new thread, or of a task that starts from what its maker sees."""
    state = MODEL.ThreadState()
    state.layers[0].value = word
    return state


@contextmanager
def in_force(state: Any) -> Iterator[None]:
    """Let the model's modes work on this state.

    Whatever comes into force first drops what others have left there: interlock does so with a
    capture, too, and the machine captures at each step.
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
    """All bits in force."""
    word: int = MODEL.state.word()
    return word


def install(word: int) -> None:
    """Make it what the state in force starts from."""
    MODEL.state.layers[0] = MODEL.Layer(MODEL.EVERY_BIT, word)


def run(word: int, action: Callable[[], T]) -> T:
    """Call `action` with a captured state in force."""
    with Captured(word):
        return action()


def shown(word: int) -> str:
    """The bits as interlock shows a captured state."""
    return f"ThreadState({', '.join(f'{name}={bool(word & bit)}' for name, bit in NAMES.items())})"


def read_only(state: Any) -> tuple[bool, bool]:
    """What a plain read of the two public modes says: it leaves alone what others have left here."""
    word = 0
    for layer in state.layers:
        word = word & ~layer.mask | layer.value
    return bool(word & MODEL.GRAD), bool(word & MODEL.INFERENCE)
