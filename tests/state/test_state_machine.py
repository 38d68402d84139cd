"""Random sequences of scopes, writes and freezes on three threads, each step compared with the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule, run_state_machine_as_test
from interlock import backends, errors
from interlock.autograd import grad_mode

from tests.autograd.modes_table import word
from tests.flag_table import BY_NAME, FLAGS, Flag, read_all
from tests.state import flag_model
from tests.state.flag_model import Refused, Scope, State
from tests.state.model_loader import load
from tests.worker import Worker

SEQUENCES = 2_000 if os.environ.get("INTERLOCK_TEST_LONG") == "1" else 200
SETTINGS = settings(
    max_examples=SEQUENCES,
    stateful_step_count=25,
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
THREADS = 3
threads = st.integers(0, THREADS - 1)


class OnThreads(RuleBasedStateMachine):
    """Three threads that live as long as the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = [Worker() for _ in range(THREADS)]

    def teardown(self) -> None:
        for worker in self.workers:
            worker.stop()


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

    @rule(target=objects, thread=threads, kind=st.sampled_from(KINDS), mode=st.booleans())
    def make(self, thread: int, kind: str, mode: bool) -> tuple[Any, Any]:
        given = (mode,) if kind in TAKE_A_BOOL else ()
        classes = (getattr(grad_mode, kind), getattr(self.model, kind))
        ours, models = self.both(thread, lambda made: made(*given), classes)
        for name in ("mode", "prev"):
            if hasattr(models, name):
                assert getattr(ours, name) == getattr(models, name)
        return ours, models

    @rule(target=objects, thread=threads, made=objects)
    def clone(self, thread: int, made: tuple[Any, Any]) -> tuple[Any, Any]:
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

    @rule(target=functions, thread=threads, made=objects)
    def decorate(self, thread: int, made: tuple[Any, Any]) -> tuple[Any, Any]:
        ours, models = made
        decorated = self.workers[thread].do(lambda: (ours(word), models(self.model_word)))
        self.compare()
        return decorated

    @rule(thread=threads, made=functions)
    def call(self, thread: int, made: tuple[Any, Any]) -> None:
        ours, models = self.both(thread, lambda function: function(), made)
        assert ours == models


def some_of(names: list[str]) -> st.SearchStrategy[dict[str, object]]:
    """Values for some of the flags, now and then a wrong one."""
    return st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: values_of(BY_NAME[name]) for name in chosen})
    )


def values_of(flag: Flag) -> st.SearchStrategy[object]:
    good = st.sampled_from(flag.legal)
    wrong = st.sampled_from(flag.wrong)
    return st.one_of(good, good, good, good, wrong)


ALL_NAMES = [flag.name for flag in FLAGS]
MODULES = ("", "cudnn", "mkldnn")


def own_flags(module: str) -> list[str]:
    return [name for name in ALL_NAMES if name.rpartition(".")[0] == module]


module_and_values = st.sampled_from(MODULES).flatmap(
    lambda module: st.tuples(st.just(module), st.one_of(st.just({}), some_of(own_flags(module))))
)
module_and_some_values = st.sampled_from(MODULES).flatmap(
    lambda module: st.tuples(st.just(module), some_of(own_flags(module)))
)


def module_named(name: str) -> Any:
    return getattr(backends, name) if name else backends


def last_part(given: dict[str, object]) -> dict[str, Any]:
    return {name.rpartition(".")[2]: value for name, value in given.items()}


class FlagsMachine(OnThreads):
    """Flags assigned, deleted, overridden, frozen and restored; scopes entered and left in any order."""

    scopes = Bundle("scopes")
    freezes = Bundle("freezes")
    snapshots = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.state = State(THREADS)
        self.open_freezes: list[Any] = []
        self.start = backends.snapshot()

    def teardown(self) -> None:
        for freeze in self.open_freezes:
            freeze.__exit__(None, None, None)
        super().teardown()
        backends.restore(self.start)

    def both(self, thread: int, ours: Callable[[], Any], models: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Do a step on both sides; either both refuse it for the same reason or neither does."""
        self.state.current = thread
        try:
            expected, refusal = models(), None
        except Refused as refused:
            expected, refusal = None, str(refused)
        try:
            got = self.workers[thread].do(ours)
        except errors.FlagsFrozenError:
            assert refusal == "frozen"
        except (errors.FlagTypeError, errors.FlagValueError):
            assert refusal == "value"
        else:
            assert refusal is None, f"it must be refused: {refusal}"
        self.compare()
        return None if refusal else (got, expected)

    def compare(self) -> None:
        for number, worker in enumerate(self.workers):
            self.state.current = number
            want = {name: self.state.read(name) for name in ALL_NAMES}
            assert worker.do(caught_up) == (want, self.state.matmul_precision(), self.state.frozen)

    @rule(thread=threads, flag=st.sampled_from(FLAGS), data=st.data())
    def assign(self, thread: int, flag: Flag, data: st.DataObject) -> None:
        value = data.draw(values_of(flag))
        self.both(
            thread,
            lambda: flag.set(value),
            lambda: self.state.put(flag_model.checked(flag.name, value)),
        )

    @rule(thread=threads, flag=st.sampled_from(FLAGS))
    def delete(self, thread: int, flag: Flag) -> None:
        self.both(thread, flag.delete, lambda: self.state.delete(flag))

    @rule(thread=threads, given=module_and_some_values)
    def set_flags(self, thread: int, given: tuple[str, dict[str, object]]) -> None:
        module, values = given
        arguments = {f"_{name}": value for name, value in last_part(values).items()}
        known = {name: value for name, value in values.items() if value is not None}  # None: not given
        if not known:
            return
        self.both(
            thread,
            lambda: module_named(module).set_flags(**arguments),
            lambda: self.state.put(flag_model.given_slots(known)),
        )

    @rule(thread=threads, precision=st.sampled_from(("highest", "high", "medium", "bogus")))
    def set_matmul_precision(self, thread: int, precision: str) -> None:
        self.both(
            thread,
            lambda: interlock.set_float32_matmul_precision(precision),
            lambda: self.state.set_matmul_precision(precision),
        )

    @rule(target=scopes, thread=threads, given=module_and_values)
    def make_flags(self, thread: int, given: tuple[str, dict[str, object]]) -> Any:
        module, values = given
        return self.both(
            thread,
            lambda: module_named(module).flags(**last_part(values)),
            lambda: Scope(self.state, flag_model.flags_slots(module, last_part(values))),
        )

    @rule(target=scopes, thread=threads, given=some_of(ALL_NAMES))
    def make_override(self, thread: int, given: dict[str, object]) -> Any:
        slots = [slot for name in given for slot in flag_model.slots_of(name)]
        if len(slots) > len(set(slots)):
            return None  # which of two values for one slot would win is nobody's promise
        return self.both(
            thread,
            lambda: backends.override(**given),
            lambda: Scope(self.state, flag_model.given_slots(given)),
        )

    @rule(thread=threads, made=scopes)
    def enter(self, thread: int, made: tuple[Any, Scope] | None) -> None:
        if made is not None:
            self.both(thread, made[0].__enter__, made[1].enter)

    @rule(thread=threads, made=scopes)
    def leave(self, thread: int, made: tuple[Any, Scope] | None) -> None:
        if made is not None:
            self.both(thread, lambda: made[0].__exit__(None, None, None), made[1].leave)

    @rule(target=freezes, thread=threads)
    def freeze(self, thread: int) -> Any:
        frozen = backends.frozen()

        def count() -> None:
            self.state.freezes += 1

        self.both(thread, frozen.__enter__, count)
        self.open_freezes.append(frozen)
        return frozen

    @rule(thread=threads, frozen=consumes(freezes))
    def thaw(self, thread: int, frozen: Any) -> None:
        def count() -> None:
            self.state.freezes -= 1

        self.both(thread, lambda: frozen.__exit__(None, None, None), count)
        self.open_freezes.remove(frozen)

    @rule(target=snapshots, thread=threads)
    def take_snapshot(self, thread: int) -> Any:
        return self.both(thread, backends.snapshot, lambda: dict(self.state.process))

    @rule(thread=threads, taken=snapshots)
    def restore(self, thread: int, taken: tuple[Any, dict[str, object]]) -> None:
        def change(process: dict[str, object]) -> None:
            process.clear()
            process.update(taken[1])

        self.both(thread, lambda: backends.restore(taken[0]), lambda: self.state.process_write(change))

    @rule(thread=threads)
    def reset(self, thread: int) -> None:
        self.both(thread, backends.reset, lambda: self.state.process_write(dict.clear))


def caught_up() -> tuple[dict[str, object], str, bool]:
    """This thread's flags, once it has looked for scopes that another thread has left for it."""
    with interlock.no_grad():
        pass
    return read_all(), interlock.get_float32_matmul_precision(), backends.flags_frozen()


@pytest.mark.parametrize("machine", [ModesMachine, FlagsMachine])
def test_every_sequence_agrees_with_the_model(machine: type[OnThreads], restored: None) -> None:
    run_state_machine_as_test(machine, settings=SETTINGS)
