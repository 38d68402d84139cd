"""Random sequences of modes on three threads, each step compared with the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, precondition, rule, run_state_machine_as_test
from interlock.autograd import grad_mode

from tests.autograd.modes_table import word
from tests.state.machine import A_FEW, SETTINGS, OnThreads, threads
from tests.state.model_loader import load

KINDS = (
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "inference_mode",
    "set_multithreading_enabled",
    "_force_original_view_tracking",
    "enforce_grad_layout_policy",
)
TAKE_A_BOOL = KINDS[2:]


class ModesMachine(OnThreads):
    """Mode objects made, entered, left, decorated with and shared in any order."""

    objects = Bundle("objects")
    functions = Bundle("functions")

    def __init__(self) -> None:
        super().__init__()
        self.model = load("modes")
        self.decorated = 0

    def model_word(self) -> tuple[bool, ...]:
        bits, model = self.model.state.word(), self.model
        order = (model.GRAD, model.INFERENCE, model.MULTITHREADING, model.VIEW_REPLAY, model.LAYOUT_POLICY)
        return tuple(bool(bits & bit) for bit in order)

    def compare(self) -> None:
        for worker in self.workers:
            got, want = worker.do(lambda: (word(), self.model_word()))
            assert got == want

    def both(self, thread: int, step: Callable[[Any], Any], pair: tuple[Any, Any]) -> tuple[Any, Any]:
        results = self.workers[thread].do(lambda: (step(pair[0]), step(pair[1])))
        self.compare()
        return results

    @precondition(OnThreads.few_objects)
    @rule(target=objects, thread=threads, kind=st.sampled_from(KINDS), mode=st.booleans())
    def make(self, thread: int, kind: str, mode: bool) -> tuple[Any, Any]:
        self.made += 1
        given = (mode,) if kind in TAKE_A_BOOL else ()
        classes = (getattr(grad_mode, kind), getattr(self.model, kind))
        ours, models = self.both(thread, lambda made: made(*given), classes)
        for name in ("mode", "prev"):
            if hasattr(models, name):
                assert getattr(ours, name) == getattr(models, name)
        return ours, models

    @precondition(OnThreads.few_objects)
    @rule(target=objects, thread=threads, made=objects)
    def clone(self, thread: int, made: tuple[Any, Any]) -> tuple[Any, Any]:
        self.made += 1
        return self.both(thread, lambda scope: scope.clone(), made)

    @rule(thread=threads, made=objects)
    def enter(self, thread: int, made: tuple[Any, Any]) -> None:
        self.both(thread, lambda scope: scope.__enter__(), made)

    @rule(thread=threads, made=objects)
    def leave(self, thread: int, made: tuple[Any, Any]) -> None:
        self.both(thread, lambda scope: scope.__exit__(None, None, None), made)

    @rule(thread=threads, mode=st.booleans())
    def write_without_a_scope(self, thread: int, mode: bool) -> None:
        self.both(thread, lambda make: make(mode), (interlock.set_grad_enabled, self.model.set_grad_enabled))

    @precondition(lambda self: self.decorated < A_FEW)
    @rule(target=functions, thread=threads, made=objects)
    def decorate(self, thread: int, made: tuple[Any, Any]) -> tuple[Any, Any]:
        self.decorated += 1
        ours, models = made
        decorated = self.workers[thread].do(lambda: (ours(word), models(self.model_word)))
        self.compare()
        return decorated

    @rule(thread=threads, made=functions)
    def call(self, thread: int, made: tuple[Any, Any]) -> None:
        ours, models = self.both(thread, lambda function: function(), made)
        assert ours == models


def test_every_sequence_of_modes_agrees_with_the_model() -> None:
    run_state_machine_as_test(ModesMachine, settings=SETTINGS)
