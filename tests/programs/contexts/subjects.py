"""Scopes of one value, as the programs of this folder use them: of interlock, or of a plain ContextVar.

A test passes to a function that is decorated with `program` a list of names of `SUBJECTS`.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import interlock
from interlock import backends


class Layer:
    def __init__(self, value: int, owner: object) -> None:
        self.value = value
        self.owner = owner
        self.ended = False
        self.token: Any = None


_layers: contextvars.ContextVar[tuple[Layer, ...]] = contextvars.ContextVar("layers", default=())


class OracleScope:
    """A scope over a ContextVar: an exit in another context ends the layer everywhere."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.open: list[Layer] = []

    def __enter__(self) -> None:
        layer = Layer(self.value, self)
        layer.token = _layers.set((*_layers.get(), layer))
        self.open.append(layer)

    def __exit__(self, *error: object) -> None:
        here = [layer for layer in _layers.get() if layer.owner is self and layer in self.open]
        if not (here or self.open):
            return
        layer = here[-1] if here else self.open[-1]
        self.open.remove(layer)
        state = _layers.get()
        try:
            _layers.reset(layer.token)
        except (ValueError, RuntimeError):
            layer.ended = True
        _layers.set(tuple(other for other in state if other is not layer))


def read_oracle() -> int:
    values = [layer.value for layer in _layers.get() if not layer.ended]
    return values[-1] if values else 0


@functools.cache
def flag_scope() -> tuple[Any, Any]:
    flag = backends.register("contexts.value", 0, doc="The value of a program.")
    return flag.override, lambda: flag.value


def mode_scope(value: int) -> Any:
    return interlock.no_grad() if value % 2 else interlock.enable_grad()


SUBJECTS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "oracle": lambda: (OracleScope, read_oracle),
    "oracle-of-modes": lambda: (OracleScope, lambda: read_oracle() % 2),
    "flag": flag_scope,
    "mode": lambda: (mode_scope, lambda: int(not interlock.is_grad_enabled())),
}


class Subject:
    """The scopes of one kind, and the values that a program has shown."""

    def __init__(self, name: str) -> None:
        self.scope, self.get = SUBJECTS[name]()
        self.shown: list[Any] = []

    def show(self, *values: Any) -> None:
        """Record values."""
        self.shown.append(list(values))


def program(function: Callable[..., None]) -> Callable[..., list[Any]]:
    """Run a program with each named subject in a new context; return what it has shown for each."""

    @functools.wraps(function)
    def run(names: list[str], *arguments: Any) -> list[Any]:
        subjects = [Subject(name) for name in names]
        for subject in subjects:
            contextvars.Context().run(function, subject, *arguments)
        return [subject.shown for subject in subjects]

    return run
