"""Random sequences of flag writes, scopes and freezes in contexts, each step compared with the model.

A place is one of three threads, or a copy of a context, which runs on the first thread.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import interlock
import pytest
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
from interlock import backends, errors

from tests.unit.backends.flag_setters import (
    FUNCTIONS,
    MODULES,
    by_attribute,
    module_named,
    none_is_ignored,
    own_flags,
    reads_with_none,
)
from tests.unit.backends.flag_specs import BY_NAME, FLAGS, Flag, read_all
from tests.unit.state import flag_model
from tests.unit.state.flag_model import Refused, Scope, State
from tests.unit.state.state_machine_base import THREADS, OnThreads, sequences

T = TypeVar("T")

# The model knows PyTorch's flags; these are interlock's own.
ALL_NAMES = [
    flag.name
    for flag in FLAGS
    if flag.name != "mkldnn.numerics" and not flag.name.startswith("python_native.")
]
PLAIN_NAMES = [name for name in ALL_NAMES if "32" not in name]
DETERMINISTIC = ("cudnn.benchmark", "cudnn.deterministic", "mkldnn.deterministic")
RELATED = [
    (),
    ("deterministic_algorithms", *DETERMINISTIC[:2]),
    ("fp32_precision", "cudnn.conv.fp32_precision", "cudnn.allow_tf32"),
    ("cuda.matmul.allow_fp16_reduced_precision_reduction", "cuda.sdp_priority", "cuda.blas_library"),
]
"""Flags with a common effective value, and flags whose values have several spellings."""
FEW_FREEZES = 2


def values_of(flag: Flag) -> st.SearchStrategy[object]:
    """Draw valid values, and sometimes a wrong one."""
    good = [given for given, _ in flag.accepted]
    return st.one_of(*[st.sampled_from(good)] * 5, st.sampled_from(flag.wrong))


VALUES = {flag.name: values_of(flag) for flag in FLAGS}


MOST_COPIES = 2
# Of threads and of copies of contexts; the number of a copy that does not exist yet means the first thread.
places = st.sampled_from((0, 0, 0, 1, 2, 3, 3, 4))


def look() -> tuple[object, ...]:
    """Return the values of all flags here."""
    reads = {"float32_matmul_precision": interlock.get_float32_matmul_precision(), **read_all()}
    for name in flag_model.SPLIT:
        reads[name] = getattr(backends.cuda.matmul, name.rpartition(".")[2])
    return reads, backends.flags_frozen()


def effective_values() -> list[tuple[object, str | None]]:
    """Return the effective values of flags with overrides, and the overrides."""
    return [backends.explain(name)[4:6] for name in DETERMINISTIC]


class FlagsMachine(OnThreads):
    """Flags assigned, deleted, overridden, frozen and restored; scopes entered and exited in any order."""

    scopes = Bundle("scopes")
    freezes = Bundle("freezes")

    def __init__(self) -> None:
        super().__init__()
        self.state = State(THREADS)
        self.open_freezes: list[Any] = []
        self.freezes_made = 0
        self.names: list[str] = []
        self.copies: list[contextvars.Context] = []
        self.snapshots: list[tuple[Any, dict[str, object]]] = []
        self.module = self.function = ""
        self.start = backends.snapshot()

    def teardown(self) -> None:
        for freeze in self.open_freezes:
            freeze.__exit__(None, None, None)
        super().teardown()
        backends.restore(self.start)

    def at(self, place: int, ours: Callable[[], T]) -> T:
        """Run a step of interlock's side at a place."""
        if place < THREADS:
            return self.workers[place].do(ours)
        return self.workers[0].do(lambda: self.copies[place - THREADS].run(ours))

    def step(self, place: int, ours: Callable[[], Any], models: Callable[[], Any]) -> Any:
        """Run a step on both sides; either both refuse it for one reason or neither does."""
        place = self.existing(place)
        self.state.current = place
        try:
            expected, refusal = models(), None
        except Refused as refused:
            expected, refusal = None, str(refused)
        try:
            got = self.at(place, ours)
        except errors.FlagsFrozenError:
            assert refusal == "frozen"
        except (errors.FlagTypeError, errors.FlagValueError):
            assert refusal == "value"
        else:
            assert refusal is None, f"it must be refused: {refusal}"
        return multiple() if refusal else (got, expected)

    def both(self, place: int, ours: Callable[[], Any], models: Callable[[], Any]) -> Any:
        """Run a step on both sides and compare the state of every thread."""
        came = self.step(place, ours, models)
        self.compare(self.existing(place))
        return came

    def compare(self, place: int) -> None:
        unscoped: dict[str, object] = {}
        for number in range(len(self.state.contexts)):
            self.state.current = number
            want = self.state.read_all() if self.state.layers or not unscoped else unscoped
            if not self.state.layers:
                unscoped = want
            if number != place:
                assert self.at(number, look) == (want, self.state.frozen)
                continue
            effective = [flag_model.effective(name, want) for name in DETERMINISTIC]
            assert self.at(number, lambda: (look(), effective_values())) == (
                (want, self.state.frozen),
                effective,
            )

    def copy_context(self, place: int) -> None:
        self.state.current = place
        self.state.copy_context()
        self.copies.append(self.at(place, contextvars.copy_context))
        self.compare(place)

    @precondition(lambda self: len(self.copies) < MOST_COPIES)
    @rule(place=places, made=scopes, is_exited=st.booleans())
    def copy_inside_a_scope(self, place: int, made: tuple[Any, Scope], is_exited: bool) -> None:
        place = self.existing(place)
        self.enter(place, made)
        self.copy_context(place)
        if is_exited:
            self.exit_scope(place, made)

    def existing(self, place: int) -> int:
        return place if place < len(self.state.contexts) else 0

    @initialize(
        names=st.lists(st.sampled_from(ALL_NAMES), min_size=1, max_size=2, unique=True),
        related=st.sampled_from(RELATED),
        module=st.sampled_from(MODULES),
        function=st.sampled_from(list(FUNCTIONS)),
        data=st.data(),
    )
    def choose_flags(
        self, names: list[str], related: tuple[str, ...], module: str, function: str, data: st.DataObject
    ) -> None:
        """Draw a few flags for this sequence, so that its steps interact, and their initial values."""
        self.module, self.function = module, function
        of_module = data.draw(st.permutations([flag.name for flag in own_flags(module)]))[:2]
        self.names = list(dict.fromkeys([*names, *related, *of_module, *FUNCTIONS[function][1]]))
        for name in self.names:
            self.step(0, *self.assignment(BY_NAME[name], data.draw(VALUES[name])))
        self.compare(0)

    def drawn_from(self, data: st.DataObject, names: list[str]) -> dict[str, object]:
        """Draw values for some of the flags, and sometimes a wrong one."""
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        return {name: data.draw(VALUES[name]) for name in chosen}

    def assignment(self, flag: Flag, value: object) -> tuple[Callable[[], None], Callable[[], None]]:
        return lambda: flag.set(value), lambda: self.state.put(flag_model.checked(flag.name, value))

    @rule(place=places, data=st.data())
    def assign(self, place: int, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.names))
        self.both(place, *self.assignment(BY_NAME[name], data.draw(VALUES[name])))

    @rule(place=places, data=st.data())
    def delete(self, place: int, data: st.DataObject) -> None:
        flag = BY_NAME[data.draw(st.sampled_from(self.names))]
        self.both(place, flag.delete, lambda: self.state.delete(flag))

    def set_flags(self, data: st.DataObject) -> tuple[Callable[[], object], Callable[[], None]]:
        values = self.drawn_from(data, [flag.name for flag in own_flags(self.module)])
        arguments = {f"_{name}": value for name, value in by_attribute(values).items()}
        left_out = none_is_ignored(self.module)
        given = {name: value for name, value in values.items() if value is not None or not left_out}
        return (
            lambda: module_named(self.module).set_flags(**arguments),
            lambda: self.state.put(flag_model.slots_of_values(given)),
        )

    def set_matmul_precision(self, data: st.DataObject) -> tuple[Callable[[], object], Callable[[], None]]:
        precision = data.draw(st.sampled_from(("highest", "high", "medium", "bogus")))
        return (
            lambda: interlock.set_float32_matmul_precision(precision),
            lambda: self.state.set_matmul_precision(precision),
        )

    def other_function(self, data: st.DataObject) -> tuple[Callable[[], object], Callable[[], None]]:
        function, names = FUNCTIONS[self.function]
        values = {name: data.draw(VALUES[name]) for name in names}
        if reads_with_none(self.function) and None in values.values():
            return lambda: function(*values.values()), lambda: None
        return (
            lambda: function(*values.values()),
            lambda: self.state.put(flag_model.slots_of_values(values)),
        )

    @rule(
        place=places,
        which=st.sampled_from((set_flags, set_matmul_precision, other_function)),
        data=st.data(),
    )
    def call(self, place: int, which: Callable[..., Any], data: st.DataObject) -> None:
        self.both(place, *which(self, data))

    def make(self, place: int, ours: Callable[[], Any], models: Callable[[], Scope]) -> Any:
        """Create a scope and enter it."""
        self.made += 1
        made = self.step(place, ours, models)
        if isinstance(made, tuple):
            self.enter(place, made)
        return made

    @precondition(OnThreads.few_objects)
    @rule(target=scopes, place=places, data=st.data())
    def make_flags(self, place: int, data: st.DataObject) -> Any:
        values = by_attribute(self.drawn_from(data, [flag.name for flag in own_flags(self.module)]))
        return self.make(
            place,
            lambda: module_named(self.module).flags(**values),
            lambda: Scope(self.state, flag_model.flags_slots(self.module, values)),
        )

    @precondition(OnThreads.few_objects)
    @rule(target=scopes, place=places, data=st.data())
    def make_override(self, place: int, data: st.DataObject) -> Any:
        given = self.drawn_from(data, self.names)
        slots = [slot for name in given for slot in flag_model.slots_of(name)]
        if len(slots) > len(set(slots)):
            return multiple()  # the precedence of two values for one slot is unspecified
        return self.make(
            place,
            lambda: backends.override(**given),
            lambda: Scope(self.state, flag_model.slots_of_values(given)),
        )

    @rule(place=places, made=scopes)
    def enter(self, place: int, made: tuple[Any, Scope]) -> None:
        self.both(place, made[0].__enter__, made[1].enter)

    @rule(place=places, made=scopes)
    def exit_scope(self, place: int, made: tuple[Any, Scope]) -> None:
        self.both(place, lambda: made[0].__exit__(None, None, None), made[1].exit_scope)

    @precondition(lambda self: self.freezes_made < FEW_FREEZES)
    @rule(target=freezes, place=places)
    def freeze(self, place: int) -> Any:
        frozen = backends.frozen()
        self.freezes_made += 1

        def count() -> None:
            self.state.freezes += 1

        self.both(place, frozen.__enter__, count)
        self.open_freezes.append(frozen)
        return frozen

    @rule(place=places, frozen=consumes(freezes))
    def thaw(self, place: int, frozen: Any) -> None:
        def count() -> None:
            self.state.freezes -= 1

        self.both(place, lambda: frozen.__exit__(None, None, None), count)
        self.open_freezes.remove(frozen)

    @rule(place=places, data=st.data())
    def explain(self, place: int, data: st.DataObject) -> None:
        name, place = data.draw(st.sampled_from(self.names)), self.existing(place)
        self.state.current = place
        explained = self.at(place, lambda: backends.explain(name))
        reads = self.state.read_all()
        assert explained.value == reads[name]
        if name in PLAIN_NAMES:
            assert explained.level == self.state.level(name)
            assert explained[4:6] == flag_model.effective(name, reads)

    @rule(place=places, which=st.sampled_from(("take", "restore", "reset")), data=st.data())
    def whole_state(self, place: int, which: str, data: st.DataObject) -> None:
        """Take a snapshot, restore one, or unset all flags."""
        if which == "reset":
            self.both(place, backends.reset, lambda: self.state.process_write(dict.clear))
        elif which == "take" or not self.snapshots:
            self.snapshots.append(
                (self.at(self.existing(place), backends.snapshot), dict(self.state.process))
            )
        else:
            ours, models = data.draw(st.sampled_from(self.snapshots))

            def change(process: dict[str, object]) -> None:
                process.clear()
                process.update(models)

            self.both(place, lambda: backends.restore(ours), lambda: self.state.process_write(change))


@pytest.mark.usefixtures("restored")
def test_every_sequence_of_flags_agrees_with_the_model() -> None:
    run_state_machine_as_test(FlagsMachine, settings=sequences(500, steps=30))
