"""The frames of the model's side, in which every suspended frame is a generator."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.unit.state import modes_model
from tests.unit.state.suspended_calls import Action, Call, Resumed, generator


class InItsOwnState(Resumed):
    """A task with its own state, in which each step and the cleanup run."""

    def __init__(self, inner: Any) -> None:
        self.state = modes_model.new_state(modes_model.capture())
        with modes_model.activated(self.state):
            super().__init__(inner)

    def send(self, action: Action) -> Any:
        with modes_model.activated(self.state):
            return super().send(action)

    def throw(self, error: Exception) -> bool:
        with modes_model.activated(self.state):
            return super().throw(error)

    def close(self) -> None:
        with modes_model.activated(self.state):
            super().close()

    def drop(self) -> None:
        self.close()


class Collected(InItsOwnState):
    """A task in a cycle: the GC finalizes its coroutine first, in the state of the GC's caller."""

    def drop(self) -> None:
        del self.inner


def model_frame(kind: str, decorator: Any, held: Any) -> Any:
    """Start the counterpart of `suspended_calls.frame` with equal arguments."""

    def decorated(function: Any) -> Any:
        return decorator(function) if decorator else function

    if kind == "function":
        return Call(decorated(lambda action: action()))
    inner = decorated(generator)(held or contextlib.nullcontext())
    match kind:
        case "task" | "awaited task":
            return InItsOwnState(inner)
        case "loop task":
            return Collected(inner)
    return Resumed(inner)
