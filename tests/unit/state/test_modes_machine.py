"""Random sequences of modes on threads, in contexts, tasks and generators, each step compared with the model.

A step runs at a place: on a thread, inside frames such as a generator with an open mode, a task, or a copied
context (`suspended_calls`). After each step all mode bits of every thread, task and context are compared.
"""

from __future__ import annotations

from typing import Any

import interlock
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from interlock.autograd import grad_mode

from tests.unit.state import modes_model, suspended_calls, suspended_calls_model
from tests.unit.state.modes_model import MODEL
from tests.unit.state.modes_state_machine import Frame, ModesOnThreads, Pair, Place
from tests.unit.state.state_machine_base import A_FEW, OnThreads, sequences, threads
from tests.unit.state.suspended_calls import Finish, Handled, Unhandled

SETTERS = (
    "set_grad_enabled",
    "set_multithreading_enabled",
    "_force_original_view_tracking",
    "enforce_grad_layout_policy",
)
KINDS = ("no_grad", "enable_grad", "inference_mode", *SETTERS)
WITHOUT_A_MODE = KINDS[:2]

ways = st.sampled_from(
    [(), (), (), (0,), (1,), (2,), (3,), (4,), (0, 1), (1, 0), (2, 0), (3, 1), (0, 2), (2, 1, 0)]
)
places = st.tuples(threads, ways)
kinds = st.sampled_from(KINDS)
setters = st.sampled_from(SETTERS)
numbers = st.integers(0, A_FEW)


class ModesMachine(ModesOnThreads):
    """Modes and captured states created, entered, exited, used as decorators and shared in any order."""

    objects = Bundle("objects")
    written = Bundle("written")
    states = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        self.has_ended_a_thread = False

    @initialize(
        target=objects,
        first=st.lists(st.tuples(kinds, st.booleans()), min_size=1, max_size=2),
    )
    def start(self, first: list[tuple[str, bool]]) -> Any:
        return multiple(*(self.make((0, ()), kind, mode) for kind, mode in first))

    @precondition(OnThreads.few_objects)
    @rule(target=objects, place=places, kind=kinds, mode=st.booleans())
    def make_another(self, place: Place, kind: str, mode: bool) -> Pair:
        return self.make(place, kind, mode)

    def make(self, place: Place, kind: str, mode: bool) -> Pair:
        self.made += 1
        given = () if kind in WITHOUT_A_MODE else (mode,)
        ours, models = self.both(
            place, lambda: getattr(grad_mode, kind)(*given), lambda: getattr(MODEL, kind)(*given)
        )
        for name in ("mode", "prev"):
            if hasattr(models, name):
                assert getattr(ours, name) == getattr(models, name)
        return self.noted((ours, models))

    def noted(self, made: Pair) -> Pair:
        self.scopes.append(made[0])
        return made

    @rule(target=written, place=places, kind=setters, mode=st.booleans())
    def write_without_a_scope(self, place: Place, kind: str, mode: bool) -> Pair:
        return self.both(place, lambda: getattr(grad_mode, kind)(mode), lambda: getattr(MODEL, kind)(mode))

    @rule(place=places, made=consumes(written), how=st.sampled_from(("decorate", "enter and exit", "exit")))
    def take_the_write_back(self, place: Place, made: Pair, how: str) -> None:
        def use(scope: Any) -> None:
            if how == "decorate":
                scope(lambda: None)
                return
            if how == "enter and exit":
                scope.__enter__()
            scope.__exit__(None, None, None)

        self.both(place, lambda: use(made[0]), lambda: use(made[1]))

    @precondition(OnThreads.few_objects)
    @rule(target=objects, place=places, made=objects)
    def clone(self, place: Place, made: Pair) -> Any:
        if not hasattr(made[0], "clone"):
            return multiple()  # the scope of a captured state has no clone
        self.made += 1
        return self.noted(self.both(place, made[0].clone, made[1].clone))

    @rule(place=places, made=st.lists(objects, min_size=1, max_size=4))
    def enter(self, place: Place, made: list[Pair]) -> None:
        self.entered += len(made)
        self.both(
            place,
            lambda: [ours.__enter__() for ours, _ in made],
            lambda: [models.__enter__() for _, models in made],
        )

    @rule(place=places, made=st.lists(objects, min_size=1, max_size=2))
    def exit_scope(self, place: Place, made: list[Pair]) -> None:
        self.both(
            place,
            lambda: [ours.__exit__(None, None, None) for ours, _ in made],
            lambda: [models.__exit__(None, None, None) for _, models in made],
        )

    @rule(target=states, place=places)
    def capture(self, place: Place) -> Pair:
        return self.both(place, interlock.capture, modes_model.capture)

    @precondition(OnThreads.few_objects)
    @rule(target=objects, state=states)
    def apply(self, state: Pair) -> Pair:
        self.made += 1
        return self.noted((state[0].apply(), modes_model.Captured(state[1])))

    @rule(place=places, state=states)
    def install(self, place: Place, state: Pair) -> None:
        self.both(place, state[0].install, lambda: modes_model.install(state[1]))

    @precondition(lambda self: len(self.frames) <= A_FEW)
    @rule(state=states, wrap=st.booleans())
    def call_in_a_captured_state(self, state: Pair, wrap: bool) -> None:
        ours, word = state
        self.frames.append(
            Frame(
                "function",
                suspended_calls.Call(ours.wrap(lambda action: action()) if wrap else ours.run),
                suspended_calls.Call(lambda action: modes_model.run(word, action)),
                0,
            )
        )

    @precondition(lambda self: len(self.frames) <= A_FEW)
    @rule(
        place=places,
        kind=st.sampled_from(suspended_calls.KINDS),
        decorator=st.none() | objects,
        held=st.none() | objects,
    )
    def begin(self, place: Place, kind: str, decorator: Pair | None, held: Pair | None) -> None:
        self.entered += 1
        # A running loop would also track async generators that start inside.
        way = self.way_of(place, no_loop=kind in (*suspended_calls.OF_THE_LOOP, "async generator"))
        our_decorator, model_decorator = decorator or (None, None)
        our_held, model_held = held or (None, None)
        begun = self.both(
            place,
            lambda: suspended_calls.frame(kind, our_decorator, our_held, self.loop),
            lambda: suspended_calls_model.model_frame(kind, model_decorator, model_held),
            way,
        )
        self.frames.append(Frame(kind, *begun, place[0]))

    @precondition(lambda self: self.frames)
    @rule(place=places, number=numbers, error=st.sampled_from((Handled, Finish, Unhandled)))
    def throw(self, place: Place, number: int, error: type[Exception]) -> None:
        frame = self.frames[number % len(self.frames)]

        def throw_to_the_model() -> bool:
            frame.ended = frame.models.throw(error())
            return frame.ended

        way = self.way_without(frame, place)
        ours, models = self.both(place, lambda: frame.ours.throw(error()), throw_to_the_model, way)
        assert ours == models
        if frame.ended:
            self.frames.remove(frame)

    @precondition(lambda self: self.frames)
    @rule(place=places, number=numbers, how=st.sampled_from(("close", "drop", "collect")))
    def end(self, place: Place, number: int, how: str) -> None:
        frame = self.frames.pop(number % len(self.frames))
        self.both(
            place,
            # The GC may finalize a coroutine before or after its awaiter.
            getattr(frame.ours, "drop" if "coroutine with" in frame.kind and how == "collect" else how),
            frame.models.close if how == "close" else frame.models.drop,
            self.way_without(frame, place),
        )

    @precondition(lambda self: not self.has_ended_a_thread)
    @rule(thread=threads)
    def end_thread(self, thread: int) -> None:
        self.has_ended_a_thread = True
        self.workers[thread].stop()
        self.workers[thread] = self.new_worker()
        self.of_threads[thread] = modes_model.State(), modes_model.ThreadBase()
        self.both((thread, ()), lambda: None, lambda: None)


def test_every_sequence_of_modes_agrees_with_the_model() -> None:
    with ModesMachine.ready():
        run_state_machine_as_test(ModesMachine, settings=sequences(500))
