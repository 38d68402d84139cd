"""Validators and `on_change` of registered flags."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interlock import backends, errors
from interlock.backends import Flag, FlagChange, register

pytestmark = pytest.mark.usefixtures("restored")

NUMBERS = itertools.count()


def is_even(value: int) -> None:
    if value % 2:
        raise ValueError("it must be even")


def new(default: int = 0, *, validator: Callable[[int], object] = is_even, **options: Any) -> Flag[int]:
    return register(f"validated.flag{next(NUMBERS)}", default, doc="A flag.", validator=validator, **options)


def test_refused_value_raises_with_the_reason_and_changes_nothing() -> None:
    flag = new()
    flag.value = 2
    writes: list[Callable[[], object]] = [
        lambda: setattr(flag, "value", 3),
        lambda: flag.override(3),
        lambda: backends.override({flag: 3}),
        lambda: backends.override({"cudnn.enabled": False}, **{flag.name: 3}),
        lambda: backends.restore([(flag.name, 3, "process"), ("cudnn.enabled", False, "process")]),
    ]
    for write in writes:
        with pytest.raises(errors.FlagValueError) as raised:
            write()
        assert str(raised.value) == f"{flag.name}: is_even refused 3: it must be even"
        assert isinstance(raised.value.__cause__, ValueError)
        assert (flag.value, backends.cudnn.enabled) == (2, True)
    with flag.override(4):
        with pytest.raises(errors.FlagValueError):
            flag.value = 5
        assert flag.value == 4
    with pytest.raises(errors.FlagTypeError, match="must be an int"):
        flag.value = "x"  # type: ignore[assignment]


def test_result_of_a_validator_is_a_bool_or_none() -> None:
    results: list[object] = [None, True, np.True_]
    for accepted in results:
        assert new(validator=lambda _, result=accepted: result).value == 0
    flag = new(validator=lambda value: np.less(value, 3))
    with pytest.raises(errors.FlagValueError, match="it returned False"):
        flag.value = 3
    flag = new(validator=lambda value: "too large" if value else None)
    with pytest.raises(
        errors.FlagValueError, match="result of the validator must be a bool or None"
    ) as raised:
        flag.value = 3
    assert isinstance(raised.value.__cause__, TypeError)
    assert flag.value == 0


def test_coroutine_functions_are_refused() -> None:
    async def check(value: object) -> None: ...

    with pytest.raises(
        errors.FlagTypeError, match="validator must be a plain function, got a coroutine function"
    ):
        new(validator=check)
    with pytest.raises(errors.FlagTypeError, match="on_change must be a plain function"):
        new(on_change=check)


def test_validator_may_return_false_or_raise_without_a_text() -> None:
    flag = new(validator=lambda value: value < 3)
    with pytest.raises(errors.FlagValueError, match=r"<lambda> refused 3: it returned False$") as raised:
        flag.value = 3
    assert raised.value.__cause__ is None

    def refuse(value: int) -> None:
        if value:
            raise KeyError

    with pytest.raises(errors.FlagValueError, match=r"refuse refused 1: KeyError$"):
        new(validator=refuse).value = 1


def test_interrupt_in_a_validator_is_raised() -> None:
    def interrupt(value: int) -> None:
        if value:
            raise KeyboardInterrupt

    flag = new(validator=interrupt)
    with pytest.raises(KeyboardInterrupt):
        flag.value = 1
    assert flag.value == 0


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("source", ["default", "variable", "restored"])
def test_interrupt_of_a_validator_cancels_the_registration(
    source: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"validated.interrupt{next(NUMBERS)}"

    def interrupt(value: int) -> None:
        if value == 7:
            raise raised

    if source == "variable":
        monkeypatch.setenv("VALIDATED_INTERRUPT", "7")
    if source == "restored":
        backends.restore([(name, 7, "process")])
    default = 7 if source == "default" else 0
    for _ in range(2):
        with pytest.raises(raised):
            register(name, default, doc="A flag.", validator=interrupt, variable="VALIDATED_INTERRUPT")
        with pytest.raises(errors.UnknownFlagError):
            Flag(name)
    # A flag that does not exist has no validator.
    monkeypatch.delenv("VALIDATED_INTERRUPT", raising=False)
    flag = register(name, 7, doc="A flag.", variable="VALIDATED_INTERRUPT")
    flag.value = 7


def test_error_of_a_validator_is_the_cause_at_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.FlagRegistrationError, match=r"default: .*is_even refused 1") as refused:
        new(1)
    assert repr(refused.value.__cause__) == "ValueError('it must be even')"
    with pytest.raises(errors.FlagRegistrationError, match="it returned False") as returned:
        new(validator=lambda value: False)
    assert returned.value.__cause__ is None
    monkeypatch.setenv("VALIDATED_CAUSE", "3")
    with pytest.warns(errors.FlagEnvironmentWarning, match="VALIDATED_CAUSE is ignored") as warned:
        new(variable="VALIDATED_CAUSE")
    refusal = warned[0].message.__cause__  # type: ignore[union-attr]
    assert isinstance(refusal, errors.FlagValueError)
    assert repr(refusal.__cause__) == "ValueError('it must be even')"


def test_validator_sees_each_value_once_and_none_never() -> None:
    seen: list[Any] = []
    flag: Flag[Any] = register("validated.seen", None, type=bool, doc="A flag.", validator=seen.append)
    flag.value = None
    assert seen == []
    flag.value = True
    with flag.override(False):
        pass
    assert seen == [True, False]

    def refuse(value: bool) -> bool:
        seen.append(value)
        return not value

    refused = register("validated.refused", False, doc="A flag.", validator=refuse)
    seen.clear()
    with pytest.raises(errors.FlagValueError):
        refused.value = True
    assert seen == [True]


def test_values_of_variables_and_restored_values_are_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALIDATED_TEXT", "3")
    with pytest.warns(errors.FlagEnvironmentWarning, match=r"VALIDATED_TEXT is ignored: .*is_even refused 3"):
        flag = new(variable="VALIDATED_TEXT")
    assert (flag.value, backends.explain(flag).level) == (0, "default")
    backends.restore([("validated.restored", 5, "process")])
    with pytest.warns(errors.FlagEnvironmentWarning, match=r"restored is ignored: .*is_even refused 5"):
        restored = register("validated.restored", 0, doc="A flag.", validator=is_even)
    assert restored.value == 0
    with pytest.raises(errors.FlagRegistrationError, match=r"default: .*is_even refused 1: it must be even"):
        new(1)


def test_validator_of_a_second_registration_is_ignored() -> None:
    register("validated.twice", 0, doc="A flag.", validator=is_even)
    flag = register("validated.twice", 0, doc="A flag.", validator=lambda value: False)
    flag.value = 2
    with pytest.raises(errors.FlagValueError, match="is_even refused 3"):
        flag.value = 3


def test_functions_of_a_reloaded_module_replace_the_earlier_ones() -> None:
    called: list[str] = []

    def functions(name: str) -> dict[str, Callable[[Any], None]]:
        # Those of all calls have one name.
        def validator(value: int) -> None:
            called.append(f"{name} validates {value}")

        def on_change(change: FlagChange) -> None:
            called.append(f"{name} is called")

        return {"validator": validator, "on_change": on_change}

    register("validated.reloaded", 0, doc="A flag.", **functions("first"))
    flag = register("validated.reloaded", 0, doc="A flag.", **functions("second"))
    called.clear()
    flag.value = 1
    assert called == ["second validates 1", "second is called"]
    # Without functions, those of the registration before are used.
    register("validated.reloaded", 0, doc="A flag.")
    flag.value = 2
    assert called[2:] == ["second validates 2", "second is called"]
    backends.unregister(flag)
    assert register("validated.reloaded", 0, doc="A flag.").value == 0
    assert len(called) == 4


def test_on_change_is_called_for_changes_of_its_flag_only() -> None:
    changes: list[FlagChange] = []
    threads: list[int] = []

    def note(change: FlagChange) -> None:
        changes.append(change)
        threads.append(threading.get_ident())

    flag = register("validated.changes", 0, doc="A flag.", on_change=note)
    backends.cudnn.benchmark = True
    with backends.override({"cudnn.enabled": False}):
        pass
    assert changes == []
    flag.value = 1
    with flag.override(2):
        flag.value = 3
    worker = threading.Thread(target=lambda: setattr(flag, "value", 4))
    worker.start()
    worker.join()
    del flag.value
    kinds = [change.kind for change in changes]
    assert kinds == ["write", "enter", "write", "exit", "write", "write"]
    assert [(change.old, change.new) for change in changes if change.kind == "write"] == [
        (0, 1),
        (2, 3),
        (1, 4),
        (4, 0),
    ]
    assert changes[1].values == {flag.name: 2}
    assert changes[1].layer == changes[3].layer
    assert len(set(threads)) == 2
    backends.unregister(flag)
    changes.clear()
    register("validated.changes", 0, doc="A flag.").value = 1
    assert changes == []


def test_on_change_may_write_flags_and_its_errors_are_unraisable(monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)

    def follow(change: FlagChange) -> None:
        if change.new == 1:
            flag.value = 2
            raise RuntimeError("no")

    flag = register("validated.follow", 0, doc="A flag.", on_change=follow)
    flag.value = 1
    assert flag.value == 2
    assert [str(each.exc_value) for each in unraisable] == ["no"]
