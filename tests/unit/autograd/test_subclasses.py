"""The modes can be subclassed, also with another constructor."""

from __future__ import annotations

from typing import Any

import interlock
import pytest

from tests.unit.autograd.mode_cases import MODES, START, State, public_modes

CLASSES: dict[str, tuple[type[Any], tuple[Any, ...], State]] = {
    "no_grad": (interlock.no_grad, (), (False, False)),
    "enable_grad": (interlock.enable_grad, (), (True, False)),
    "set_grad_enabled": (interlock.set_grad_enabled, (False,), (False, False)),
    "inference_mode": (interlock.inference_mode, (True,), (False, True)),
}
EACH = pytest.mark.parametrize(("base", "given", "inside"), CLASSES.values(), ids=CLASSES.keys())


def leave(scope: Any) -> None:
    scope.__exit__(None, None, None)


@EACH
def test_plain_subclass_works_as_a_scope_and_as_a_decorator(
    base: type[Any], given: tuple[Any, ...], inside: State
) -> None:
    class Mine(base):
        extra = 3

    made = Mine(*given)
    assert type(made) is Mine
    assert isinstance(made, base)
    assert made.extra == 3
    with made:
        assert public_modes() == inside
    assert made(public_modes)() == inside
    clone = made.clone()
    assert type(clone) is Mine
    leave(clone)
    assert public_modes() == START


@EACH
def test_subclass_may_have_a_constructor_of_its_own(
    base: type[Any], given: tuple[Any, ...], inside: State
) -> None:
    class Mine(base):
        def __init__(self, label: str, *, size: int = 1) -> None:
            super().__init__(*given)
            self.label, self.size = label, size

    made = Mine("text", size=2)
    assert type(made) is Mine
    assert (made.label, made.size) == ("text", 2)
    with made, made:
        assert public_modes() == inside
    assert public_modes() == START


@EACH
def test_subclass_may_have_a_constructor_without_parameters(
    base: type[Any], given: tuple[Any, ...], inside: State
) -> None:
    class Mine(base):
        def __init__(self) -> None:
            super().__init__(*given)

        def clone(self) -> Any:
            return type(self)()

    function = Mine()(public_modes)
    assert public_modes() == START
    assert function() == inside
    with Mine():
        assert public_modes() == inside
    assert public_modes() == START


@EACH
def test_subclass_may_extend_enter_and_exit(base: type[Any], given: tuple[Any, ...], inside: State) -> None:
    log: list[Any] = []

    class Mine(base):
        def __enter__(self) -> None:
            super().__enter__()
            log.append(public_modes())

        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)
            log.append(public_modes())

    with Mine(*given):
        log.append("inside")
    assert log == [inside, "inside", START]
    log.clear()
    assert Mine(*given)(lambda: log.append("called"))() is None
    assert log == [inside, "called", START], "the decorator calls both methods, too"


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_subclass_keeps_the_form_without_parentheses(name: str) -> None:
    class Mine(CLASSES[name][0]):
        pass

    assert Mine(public_modes)() == MODES[name].inside
    assert public_modes() == START


def test_subclass_whose_constructor_fails_writes_nothing() -> None:
    class Mine(interlock.set_grad_enabled):
        def __init__(self) -> None:
            raise LookupError

    with pytest.raises(LookupError):
        Mine()
    assert public_modes() == START


def test_subclass_that_forgets_its_base_is_refused_or_harmless() -> None:
    class Mine(interlock.no_grad):
        def __init__(self) -> None:
            pass

    made = Mine()
    with made:
        assert public_modes() == (False, False)
    assert public_modes() == START
