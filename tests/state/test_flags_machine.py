"""Random sequences of flag writes, scopes and freezes on three threads, each step compared with the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

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

from tests.flag_table import BY_NAME, FLAGS, Flag, read_all
from tests.state import flag_model
from tests.state.flag_model import Refused, Scope, State
from tests.state.machine import A_FEW, THREADS, OnThreads, sequences, threads

ALL_NAMES = [flag.name for flag in FLAGS]
MODULES = ("", "cudnn", "mkldnn")


def values_of(flag: Flag) -> st.SearchStrategy[object]:
    """Legal values, now and then a wrong one."""
    good = st.sampled_from(flag.legal)
    return st.one_of(good, good, good, good, good, st.sampled_from(flag.wrong))


def own_flags(module: str) -> list[str]:
    """The flags that the module's own `flags` and `set_flags` take: those that PyTorch's take."""
    taken = inspect.signature(module_named(module).flags).parameters
    prefix = f"{module}." if module else ""
    return [f"{prefix}{name}" for name in taken]


def module_named(name: str) -> Any:
    return getattr(backends, name) if name else backends


def last_part(given: dict[str, object]) -> dict[str, Any]:
    return {name.rpartition(".")[2]: value for name, value in given.items()}


def caught_up() -> tuple[dict[str, object], str, bool]:
    """This thread's flags, once it has looked for scopes that another thread has left for it."""
    with interlock.no_grad():
        pass
    return read_all(), interlock.get_float32_matmul_precision(), backends.flags_frozen()


class FlagsMachine(OnThreads):
    """Flags assigned, deleted, overridden, frozen and restored; scopes entered and left in any order."""

    scopes = Bundle("scopes")
    freezes = Bundle("freezes")
    snapshots = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.state = State(THREADS)
        self.open_freezes: list[Any] = []
        self.freezes_made = 0
        self.names: list[str] = []
        self.modules: list[str] = []
        self.start = backends.snapshot()

    def teardown(self) -> None:
        for freeze in self.open_freezes:
            freeze.__exit__(None, None, None)
        super().teardown()
        backends.restore(self.start)

    def both(self, thread: int, ours: Callable[[], Any], models: Callable[[], Any]) -> Any:
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
        return multiple() if refusal else (got, expected)

    def compare(self) -> None:
        for number, worker in enumerate(self.workers):
            self.state.current = number
            want = {name: self.state.read(name) for name in ALL_NAMES}
            assert worker.do(caught_up) == (want, self.state.matmul_precision(), self.state.frozen)

    @initialize(names=st.lists(st.sampled_from(ALL_NAMES), min_size=2, max_size=4, unique=True))
    def choose_flags(self, names: list[str]) -> None:
        self.names = names
        self.modules = sorted({module for name in names if (module := name.rpartition(".")[0]) in MODULES})

    def drawn_from(self, data: st.DataObject, names: list[str]) -> dict[str, object]:
        """Values for some of the flags, now and then a wrong one."""
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        return {name: data.draw(values_of(BY_NAME[name])) for name in chosen}

    @rule(thread=threads, data=st.data())
    def assign(self, thread: int, data: st.DataObject) -> None:
        flag = BY_NAME[data.draw(st.sampled_from(self.names))]
        value = data.draw(values_of(flag))
        self.both(
            thread,
            lambda: flag.set(value),
            lambda: self.state.put(flag_model.checked(flag.name, value)),
        )

    @rule(thread=threads, data=st.data())
    def delete(self, thread: int, data: st.DataObject) -> None:
        flag = BY_NAME[data.draw(st.sampled_from(self.names))]
        self.both(thread, flag.delete, lambda: self.state.delete(flag))

    @precondition(lambda self: self.modules)
    @rule(thread=threads, data=st.data())
    def set_flags(self, thread: int, data: st.DataObject) -> None:
        module = data.draw(st.sampled_from(self.modules))
        values = self.drawn_from(data, own_flags(module))
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

    @precondition(OnThreads.few_objects)
    @rule(target=scopes, thread=threads, module=st.sampled_from(MODULES), data=st.data())
    def make_flags(self, thread: int, module: str, data: st.DataObject) -> Any:
        values = self.drawn_from(data, own_flags(module))
        self.made += 1
        return self.both(
            thread,
            lambda: module_named(module).flags(**last_part(values)),
            lambda: Scope(self.state, flag_model.flags_slots(module, last_part(values))),
        )

    @precondition(OnThreads.few_objects)
    @rule(target=scopes, thread=threads, data=st.data())
    def make_override(self, thread: int, data: st.DataObject) -> Any:
        given = self.drawn_from(data, self.names)
        slots = [slot for name in given for slot in flag_model.slots_of(name)]
        if len(slots) > len(set(slots)):
            return multiple()  # which of two values for one slot would win is nobody's promise
        self.made += 1
        return self.both(
            thread,
            lambda: backends.override(**given),
            lambda: Scope(self.state, flag_model.given_slots(given)),
        )

    @rule(thread=threads, made=scopes)
    def enter(self, thread: int, made: tuple[Any, Scope]) -> None:
        self.both(thread, made[0].__enter__, made[1].enter)

    @rule(thread=threads, made=scopes)
    def leave(self, thread: int, made: tuple[Any, Scope]) -> None:
        self.both(thread, lambda: made[0].__exit__(None, None, None), made[1].leave)

    @precondition(lambda self: self.freezes_made < A_FEW)
    @rule(target=freezes, thread=threads)
    def freeze(self, thread: int) -> Any:
        frozen = backends.frozen()
        self.freezes_made += 1

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


@pytest.mark.usefixtures("restored")
def test_every_sequence_of_flags_agrees_with_the_model() -> None:
    run_state_machine_as_test(FlagsMachine, settings=sequences(200))
