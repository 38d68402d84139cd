"""`backends.unregister`: what happens to handles, scopes and captured states, and registering again."""

from __future__ import annotations

import contextvars
import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock import backends, capture, errors
from interlock.backends import Flag, register

from tests.helpers.subprocess import run_program

pytestmark = pytest.mark.usefixtures("restored")

untyped: Any = register


def test_handles_of_an_unregistered_flag_raise() -> None:
    flag = register("unregister_test.handle", 1, doc="A flag.")
    scope = flag.override(2)
    backends.unregister(flag)
    uses: list[Callable[[], object]] = [
        lambda: flag.value,
        lambda: setattr(flag, "value", 2),
        lambda: delattr(flag, "value"),
        lambda: flag.override(2),
    ]
    for use in uses:
        with pytest.raises(errors.UnknownFlagError, match=r"^unregister_test\.handle was unregistered$"):
            use()
    lookups: list[Callable[[], object]] = [
        lambda: backends.explain(flag),
        lambda: backends.unregister(flag),
        lambda: Flag(flag.name),
    ]
    for look_up in lookups:
        with pytest.raises(errors.UnknownFlagError, match=r"there is no flag unregister_test\.handle"):
            look_up()
    assert flag.name == "unregister_test.handle"
    assert all(entry.name != flag.name for entry in backends.snapshot())
    assert all(described.name != flag.name for described in backends.describe())
    with scope:
        pass


def test_flags_of_interlock_and_unknown_names_are_refused() -> None:
    message = r'^unregister\("cudnn\.enabled"\): it is a flag of interlock'
    with pytest.raises(errors.FlagRegistrationError, match=message):
        backends.unregister("cudnn.enabled")
    with pytest.raises(errors.UnknownFlagError, match=r"unregister_test\.unknown"):
        backends.unregister("unregister_test.unknown")
    untyped_unregister: Any = backends.unregister
    with pytest.raises(errors.FlagTypeError, match="unregister: name must be a str"):
        untyped_unregister(1)
    assert backends.cudnn.enabled is True


def test_name_can_be_registered_again_with_another_type() -> None:
    first = register("unregister_test.again", 1, doc="A flag.")
    first.value = 7
    with first.override(8):
        state = capture()
    backends.unregister(first)
    second = untyped("unregister_test.again", Path("a"), doc="Another flag.")
    assert (second.value, backends.explain(second).level) == (Path("a"), "default")
    assert state.run(lambda: second.value) == Path("a")
    with pytest.raises(errors.UnknownFlagError):
        first.value = 1
    second.value = Path("b")
    assert second.value == Path("b")


def test_equal_registrations_again_begin_with_the_default() -> None:
    for number in range(50):
        flag = register("unregister_test.often", 1, doc="A flag.")
        assert flag.value == 1
        flag.value = number
        backends.unregister(flag)


def test_equal_registrations_again_allocate_nothing() -> None:
    done = run_program("backends.flags.equal_registrations_use_one_storage")
    assert done.code == 0, done.stderr


def test_registering_again_reads_the_variable_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("2", "3", None, "2"):
        if text is None:
            monkeypatch.delenv("UNREGISTER_TEST_VARIABLE")
        else:
            monkeypatch.setenv("UNREGISTER_TEST_VARIABLE", text)
        flag = register("unregister_test.variable", 1, doc="A flag.")
        assert flag.value == int(text or 1)
        backends.unregister(flag)


def test_open_scopes_end_and_have_no_effect_on_a_later_registration() -> None:
    flag = register("unregister_test.scoped", 1, doc="A flag.")
    with backends.override({"cudnn.enabled": False}, **{flag.name: 2}):
        backends.unregister(flag)
        assert not backends.cudnn.enabled
        again = register("unregister_test.scoped", 1, doc="A flag.")
        assert (again.value, backends.explain(again).level) == (1, "default")
        state = capture()
    assert backends.explain("cudnn.enabled").value
    for captured in (state, pickle.loads(pickle.dumps(state)), copy.copy(state)):
        assert captured.run(lambda: (backends.cudnn.enabled, again.value)) == (False, 1)


def test_contexts_and_states_of_an_unregistered_flag_work() -> None:
    flag = register("unregister_test.context", [1], doc="A flag.")
    with flag.override((2,)), backends.override({"cudnn.benchmark": True}):
        context = contextvars.copy_context()
        state = capture()
    pickled = pickle.dumps(state)
    backends.unregister(flag)
    with pytest.raises(errors.UnknownFlagError, match=r"there is no flag unregister_test\.context"):
        pickle.loads(pickled)
    assert context.run(lambda: backends.cudnn.benchmark)
    assert state.run(lambda: backends.cudnn.benchmark)
    assert pickle.loads(pickle.dumps(state)).run(lambda: backends.cudnn.benchmark)


def test_unregister_while_flags_are_frozen() -> None:
    flag = register("unregister_test.frozen", 1, doc="A flag.")
    with backends.frozen():
        backends.unregister(flag)
    with pytest.raises(errors.UnknownFlagError):
        Flag("unregister_test.frozen")


def test_unregister_releases_the_validator_and_on_change() -> None:
    class Function:
        def __call__(self, argument: object) -> None: ...

    validator, on_change = Function(), Function()
    references = [weakref.ref(validator), weakref.ref(on_change)]
    flag = register("unregister_test.released", 1, doc="A flag.", validator=validator, on_change=on_change)
    flag.value = 2
    backends.unregister(flag)
    del validator, on_change
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_restored_value_waits_for_the_next_registration() -> None:
    flag = register("unregister_test.restored", 1, doc="A flag.")
    flag.value = 2
    taken = backends.snapshot()
    backends.unregister(flag)
    backends.restore(taken)
    assert register("unregister_test.restored", 1, doc="A flag.").value == 2
