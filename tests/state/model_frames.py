"""The frames of the model's side, where whatever is suspended is a generator."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.state import modes_model
from tests.state.frames import Action, Call, Resumed, generator


class InItsOwnState(Resumed):
    """A task that has a state of its own: each step runs there, but not what a collector does."""

    def __init__(self, inner: Any) -> None:
        self.state = modes_model.new_state(modes_model.capture())
        with modes_model.in_force(self.state):
            super().__init__(inner)

    def send(self, action: Action) -> Any:
        with modes_model.in_force(self.state):
            return super().send(action)

    def throw(self, error: Exception) -> bool:
        with modes_model.in_force(self.state):
            return super().throw(error)

    def close(self) -> None:
        with modes_model.in_force(self.state):
            super().close()


class Awaited(InItsOwnState):
    """Such a task inside a coroutine, which is told of its own end and closes the task."""

    def drop(self) -> None:
        self.close()

    collect = drop


def model_frame(kind: str, decorator: Any, held: Any) -> Any:
    """Begin one that does what `frames.frame` of the same arguments does."""

    def decorated(function: Any) -> Any:
        return decorator(function) if decorator else function

    if kind == "function":
        return Call(decorated(lambda action: action()))
    inner = decorated(generator)(held or contextlib.nullcontext())
    match kind:
        case "task" | "loop task":
            return InItsOwnState(inner)
        case "awaited task":
            return Awaited(inner)
    return Resumed(inner)
