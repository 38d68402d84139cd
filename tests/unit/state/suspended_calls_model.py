"""The frames of the model's side, in which every suspended frame is a generator."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.unit.state import modes_model
from tests.unit.state.suspended_calls import Action, Call, Resumed, generator


class InContext:
    """A copy of the context, in which each action runs."""

    def __init__(self) -> None:
        self.state = modes_model.CURRENT.state.copy()

    def send(self, action: Action) -> Any:
        with modes_model.activated(self.state):
            return action()

    def throw(self, error: Exception) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: nothing is suspended in it."""

    drop = close


class Task(Resumed):
    """A task, in whose context each step and the cleanup run; the creator's context is copied."""

    def __init__(self, inner: Any) -> None:
        self.state = modes_model.CURRENT.state.copy()
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
        """Drop the last reference: the collector closes the coroutine in the context of its own caller."""
        del self.inner


def model_frame(kind: str, decorator: Any, held: Any) -> Any:
    """Start the counterpart of `suspended_calls.frame` with equal arguments."""

    def decorated(function: Any) -> Any:
        return decorator(function) if decorator else function

    if kind == "context":
        return InContext()
    if kind == "function":
        return Call(decorated(lambda action: action()))
    inner = decorated(generator)(held or contextlib.nullcontext())
    return Task(inner) if kind.startswith("task") else Resumed(inner)
