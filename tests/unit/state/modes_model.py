"""The model of modes with several states at once: of threads, of tasks and of copied contexts.

`tests/models/modes.py` has one state in its variable `state`, an object for each thread. Here all states are
created and used on the thread of the test; the state of the current step is assigned to that variable. The
rules are those of the model, except for these:

* A copy of a context has the layers of the original, and from there each goes its own way. A `Mark` is what
  the copies of a layer have in common: the state in which it was entered.
* An exit in the state that entered removes the layer there. An exit elsewhere removes it from every state.
* A write goes to the layer of the current state, and is taken back there or in a copy of that state.
* A decorated generator pushes its layer at the position of its first resume.
* The base of a context sets the bits that were written in it; the base of the thread lies below.
* A captured state is one word. Applied, it is a layer that sets every bit. Installed, it is the base of the
  thread, and the context has no base any more.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

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

positions = itertools.count(1)


class Mark:
    """What the copies of a layer, or of a base, have in common."""

    def __init__(self, entered_in: State | None = None) -> None:
        self.entered_in = entered_in


class Layer(MODEL.Layer):  # type: ignore[misc]
    """A layer with its mark and its position; a base has no mark before it is written."""

    def __init__(self, mask: int, value: int, mark: Mark | None = None, position: int = 0) -> None:
        super().__init__(mask, value)
        self.mark = mark
        self.position = position

    def copy(self) -> Layer:
        return Layer(self.mask, self.value, self.mark, self.position)

    def set(self, bit: int, mask: int, value: int) -> None:
        """Replace one bit of mask and value."""
        self.mask = self.mask & ~bit | mask
        self.value = self.value & ~bit | value


class ThreadBase:
    """The base of a thread: every bit."""

    def __init__(self) -> None:
        self.word: int = MODEL.DEFAULT


class State:
    """The state of a thread's own context, of a task or of a copied context: its base, then its layers."""

    every: ClassVar[weakref.WeakSet[State]] = weakref.WeakSet()
    thread: ClassVar[ThreadBase]
    """The base of the thread on which the model acts."""

    def __init__(self, layers: list[Layer] | None = None) -> None:
        self.layers = layers or [Layer(0, 0)]
        self.every.add(self)

    def copy(self) -> State:
        return State([layer.copy() for layer in self.layers])

    def word(self) -> int:
        word = self.thread.word
        for layer in self.layers:
            word = word & ~layer.mask | layer.value
        return word

    def write(self, bit: int, on: bool) -> tuple[Layer, tuple[int, int]]:
        """Set a bit in the innermost layer that decides it, or in the base.

        Returns that place, and its old mask and value of this bit.
        """
        layer = next((layer for layer in reversed(self.layers) if layer.mask & bit), self.layers[0])
        layer.mark = layer.mark or Mark()
        old = layer.mask & bit, layer.value & bit
        layer.set(bit, bit, bit if on else 0)
        return layer, old

    def push(self, mark: Mark, mask: int, value: int, position: int) -> None:
        self.layers.append(Layer(mask, value, mark, position))
        self.layers.sort(key=lambda layer: layer.position)

    def remove(self, mark: Mark) -> None:
        self.layers = [layer for layer in self.layers if layer.mark is not mark]


def _marks(mode: Any) -> list[Mark]:
    """Return the marks of the layers that an object has open, in the order of entry."""
    marks: list[Mark] = mode.__dict__.setdefault("_marks", [])
    return marks


def _enter_at(mode: Any, position: int) -> None:
    mark = Mark(MODEL.state)
    MODEL.state.push(mark, mode.mask, mode.value, position)
    _marks(mode).append(mark)


def _enter(mode: Any) -> None:
    _enter_at(mode, next(positions))


def _exit(mode: Any, *_error: object) -> None:
    marks = _marks(mode)
    here = [layer.mark for layer in MODEL.state.layers if layer.mark in marks]
    if not marks:
        return
    mark = here[-1] if here else marks[-1]
    marks.remove(mark)
    for state in [MODEL.state] if mark.entered_in is MODEL.state else list(State.every):
        state.remove(mark)


def _take_back(mode: Any) -> None:
    if mode._written:
        (place, old), mode._written = mode._written, None
        for layer in MODEL.state.layers:
            if layer.mark is place.mark:
                layer.set(mode.mask, *old)


def _decorate_generator(new_scope: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Open the scope around each resume, at the position of the first one."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        running = function(*arguments, **named)
        position = next(positions)
        resume, sent = running.send, None
        while True:
            scope = new_scope()
            if isinstance(scope, MODEL.SetMode):
                _take_back(scope)
            _enter_at(scope, position)
            try:
                produced = resume(sent)
            except StopIteration as end:
                return end.value
            finally:
                sent = None
                _exit(scope)
            try:
                resume, sent = running.send, (yield produced)
            except BaseException as error:
                resume, sent = running.throw, error

    return run


# Of code that runs outside of the steps.
MODEL.state, State.thread = State(), ThreadBase()
MODEL.Mode.__enter__ = _enter
MODEL.Mode.__exit__ = _exit
MODEL.SetMode._take_back = _take_back
MODEL.decorate_generator = _decorate_generator


class Captured(MODEL.Mode):  # type: ignore[misc]
    """The scope of a captured state."""

    mask = MODEL.EVERY_BIT

    def __init__(self, word: int) -> None:
        super().__init__()
        self.value = word

    def clone(self) -> Captured:
        return Captured(self.value)


@contextmanager
def activated(state: State, thread: ThreadBase | None = None) -> Iterator[None]:
    """Let the model's modes use this state, on this thread or the present one."""
    before = MODEL.state, State.thread
    MODEL.state, State.thread = state, thread or State.thread
    try:
        yield
    finally:
        MODEL.state, State.thread = before


def capture() -> int:
    """Return all effective bits."""
    word: int = MODEL.state.word()
    return word


def install(word: int) -> None:
    """Replace the base of the thread, and remove that of the active state."""
    MODEL.state.layers[0] = Layer(0, 0)
    State.thread.word = word


def run(word: int, action: Callable[[], T]) -> T:
    """Call `action` with an applied captured state."""
    with Captured(word):
        return action()


def shown(word: int) -> str:
    """Return the bits in the format of interlock's captured states."""
    modes = ", ".join(f"{name}={bool(word & bit)}" for name, bit in NAMES.items())
    # The model has no anomaly mode, and the machine does not change it.
    return f"ThreadState({modes}, anomaly=False, anomaly_check_nan=True)"
