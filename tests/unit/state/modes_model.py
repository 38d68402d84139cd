"""The model of modes with several states at once: of threads, of tasks and of copied contexts.

`tests/models/modes.py` has one state in its variable `state`, an object for each thread. Here all states are
created and used on the thread of the test; the state of the current step is assigned to that variable. The
rules are those of the model, except for these:

* A copy of a context has the layers of the original; later changes of one do not reach the other. A `Mark`
  is what the copies of a layer have in common: the state in which it was entered.
* An exit in the state that entered removes the layer there. An exit elsewhere removes it from every state.
* A write changes the layer of the current state, and is taken back there or in a copy of that state.
* A decorated generator pushes its layer below the layers that were entered in earlier resumes and are still
  open in this context, else as the innermost.
* The base of a context sets the bits that were written in it; the base of the thread lies below.
* A captured state is one word. Applied, it is a layer that sets every bit. Installed, it is the base of the
  thread, and the context has no base any more.
"""

from __future__ import annotations

import functools
import itertools
import threading
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

    mask: int
    value: int

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
    lock: ClassVar[threading.Lock] = threading.Lock()
    """Held during each use of `every`, because threads of the fuzzer use the model at once."""

    def __init__(self, layers: list[Layer] | None = None) -> None:
        self.layers = layers or [Layer(0, 0)]
        with self.lock:
            self.every.add(self)

    def copy(self) -> State:
        return State([layer.copy() for layer in self.layers])

    def word(self) -> int:
        word = CURRENT.thread.word
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
        layers = [*self.layers, Layer(mask, value, mark, position)]
        self.layers = sorted(layers, key=lambda layer: layer.position)

    def remove(self, mark: Mark) -> None:
        # The list is replaced, and only if it changes: other threads of the fuzzer search it.
        if any(layer.mark is mark for layer in self.layers):
            self.layers = [layer for layer in self.layers if layer.mark is not mark]


class Current(threading.local):
    """Where the model acts: a context, and the base of a thread. Each thread begins with its own."""

    def __init__(self) -> None:
        self.state = State()
        self.thread = ThreadBase()

    def word(self) -> int:
        return self.state.word()

    def write(self, bit: int, on: bool) -> tuple[Layer, tuple[int, int]]:
        return self.state.write(bit, on)


CURRENT = Current()


def _marks(mode: Any) -> list[Mark]:
    """Return the marks of the layers that an object has open, in the order of entry."""
    marks: list[Mark] = mode.__dict__.setdefault("_marks", [])
    return marks


def _enter_at(mode: Any, position: int) -> None:
    mark = Mark(CURRENT.state)
    CURRENT.state.push(mark, mode.mask, mode.value, position)
    _marks(mode).append(mark)


def _enter(mode: Any) -> None:
    _enter_at(mode, next(positions))


def _exit(mode: Any, *_error: object) -> None:
    marks = _marks(mode)
    here = [layer.mark for layer in CURRENT.state.layers if layer.mark in marks]
    if not marks:
        return
    mark = here[-1] if here else marks[-1]
    marks.remove(mark)
    if mark.entered_in is CURRENT.state:
        CURRENT.state.remove(mark)
        return
    with State.lock:
        every = list(State.every)
    for state in every:
        state.remove(mark)


def _take_back(mode: Any) -> None:
    if mode._written:
        (place, old), mode._written = mode._written, None
        for layer in CURRENT.state.layers:
            if layer.mark is place.mark:
                layer.set(mode.mask, *old)


def _decorate_generator(new_scope: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Open the scope around each resume, above all scopes but those that the generator has open."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        running = function(*arguments, **named)
        position, own = 0, set[Mark]()
        resume, sent = running.send, None
        while True:
            scope, start = new_scope(), next(positions)
            if not any(layer.mark in own for layer in CURRENT.state.layers):
                position, own = start, set()
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
                above = [layer for layer in CURRENT.state.layers if layer.position > position]
                new = {layer.mark for layer in above if layer.mark in own or layer.position > start}
                own = {mark for mark in new if mark is not None}
            try:
                resume, sent = running.send, (yield produced)
            except BaseException as error:
                resume, sent = running.throw, error

    return run


MODEL.state = CURRENT
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
    before = CURRENT.state, CURRENT.thread
    CURRENT.state, CURRENT.thread = state, thread or CURRENT.thread
    try:
        yield
    finally:
        CURRENT.state, CURRENT.thread = before


def capture() -> int:
    """Return all effective bits."""
    return CURRENT.word()


def install(word: int) -> None:
    """Replace the base of the thread, and remove that of the active state."""
    CURRENT.state.layers[0] = Layer(0, 0)
    CURRENT.thread.word = word


def run(word: int, action: Callable[[], T]) -> T:
    """Call `action` with an applied captured state."""
    with Captured(word):
        return action()


def shown(word: int) -> str:
    """Return the bits in the format of interlock's captured states."""
    modes = ", ".join(f"{name}={bool(word & bit)}" for name, bit in NAMES.items())
    # The model has no anomaly mode, and the machine does not change it.
    return f"ThreadState({modes}, anomaly=False, anomaly_check_nan=True)"
