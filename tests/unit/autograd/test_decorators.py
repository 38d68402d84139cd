"""Modes as decorators, with and without parentheses, on every kind of function."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import pytest

from tests.helpers.ids import stable_repr
from tests.unit.autograd.mode_cases import (
    BARE,
    HIDDEN,
    MODES,
    SETTERS,
    START,
    Mode,
    State,
    all_modes,
    public_modes,
)

EACH = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
WITHOUT_PARENTHESES = pytest.mark.parametrize(("kind", "inside"), BARE.values(), ids=BARE.keys())


@EACH
def test_decorated_function_runs_in_the_mode_each_time(mode: Mode) -> None:
    @mode.make()
    def function(x: int, *, y: int = 2) -> tuple[int, int, State]:
        return x, y, public_modes()

    assert public_modes() == START, "decorating does not change the mode"
    assert function(1) == (1, 2, mode.inside) == function(x=1, y=2)
    assert public_modes() == START


@WITHOUT_PARENTHESES
def test_decorator_works_without_parentheses(kind: Any, inside: State) -> None:
    @kind
    def function(x: int) -> tuple[int, State]:
        """What it does."""
        return x, public_modes()

    assert function(1) == (1, inside)
    assert (function.__name__, function.__doc__) == ("function", "What it does.")
    assert public_modes() == START


@EACH
def test_decorator_copies_the_attributes_of_functools_wraps(mode: Mode) -> None:
    def function(x: int, *rest: str, y: float = 2.0) -> str:
        """What it does."""
        return f"{x}{rest}{y}"

    function.note = "kept"
    decorated = mode.make()(function)
    for name in functools.WRAPPER_ASSIGNMENTS:
        assert getattr(decorated, name) == getattr(function, name)
    assert decorated.note == "kept"
    assert inspect.unwrap(decorated) is function
    assert inspect.signature(decorated) == inspect.signature(function)


@EACH
def test_exception_exits_the_mode_and_is_unchanged(mode: Mode) -> None:
    error = KeyError("mine")

    @mode.make()
    def function() -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        function()
    assert caught.value is error
    assert public_modes() == START


@EACH
def test_recursion_nests(mode: Mode) -> None:
    @mode.make()
    def function(depth: int) -> list[State]:
        return [public_modes(), *(function(depth - 1) if depth else []), public_modes()]

    assert function(3) == [mode.inside] * 8
    assert public_modes() == START


@EACH
def test_methods_of_every_kind_can_be_decorated(mode: Mode) -> None:
    class Owner:
        @mode.make()
        def method(self, x: int) -> Any:
            return self, x, public_modes()

        @classmethod
        @mode.make()
        def of_class(cls, x: int) -> Any:
            return cls, x, public_modes()

        @staticmethod
        @mode.make()
        def static(x: int) -> Any:
            return x, public_modes()

        @property
        @mode.make()
        def shown(self) -> State:
            return public_modes()

    owner = Owner()
    assert owner.method(1) == (owner, 1, mode.inside) == Owner.method(owner, 1)
    assert owner.of_class(2) == (Owner, 2, mode.inside) == Owner.of_class(2)
    assert owner.static(3) == (3, mode.inside) == Owner.static(3)
    assert owner.shown == mode.inside
    assert public_modes() == START


@WITHOUT_PARENTHESES
def test_methods_can_be_decorated_without_parentheses(kind: Any, inside: State) -> None:
    class Owner:
        @kind
        def method(self, x: int) -> Any:
            return self, x, public_modes()

        @staticmethod
        @kind
        def static(x: int) -> Any:
            return x, public_modes()

    owner = Owner()
    assert owner.method(1) == (owner, 1, inside)
    assert Owner.static(3) == (3, inside)


@EACH
def test_one_object_can_decorate_several_functions_and_still_be_entered(mode: Mode) -> None:
    shared = mode.make()
    first, second = shared(lambda: public_modes()), shared(lambda: public_modes())
    assert public_modes() == START
    assert (first(), second()) == (mode.inside, mode.inside)
    with shared:
        assert public_modes() == mode.inside == first()
    assert public_modes() == START


@EACH
def test_decorators_stack(mode: Mode) -> None:
    @interlock.enable_grad()
    @mode.make()
    def inner() -> State:
        return public_modes()

    @mode.make()
    @interlock.no_grad()
    def outer() -> State:
        return public_modes()

    assert inner() == (mode.inside[0], mode.inside[1])
    assert outer() == (False, mode.inside[1])
    assert public_modes() == START


@EACH
def test_decorated_class_warns_and_creates_instances_in_the_mode(mode: Mode) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @mode.make()
        class Decorated:
            def __init__(self, x: int) -> None:
                self.seen = x, public_modes()

    assert [each.category for each in caught] == [FutureWarning]
    assert caught[0].filename == __file__, "it points at the class, not into the package"
    assert Decorated(3).seen == (3, mode.inside)
    assert public_modes() == START


@EACH
@pytest.mark.parametrize("immutable", [int, dict, property])
def test_class_that_cannot_be_changed_is_refused(mode: Mode, immutable: type) -> None:
    with pytest.raises(TypeError, match=r"^\w+: function must not be a class of an extension, got \w+$"):
        mode.make()(immutable)


def test_class_decorated_for_preserved_versions_warns_there_too() -> None:
    with pytest.warns(FutureWarning) as caught:
        interlock._unsafe_preserve_version_counter(interlock.ones(1))(type("Plain", (), {}))
    assert caught[0].filename == __file__


@WITHOUT_PARENTHESES
def test_class_decorated_without_parentheses_warns_too(kind: Any, inside: State) -> None:
    class Plain:
        def __init__(self) -> None:
            self.seen = public_modes()

    with pytest.warns(FutureWarning):
        decorated = kind(Plain)
    assert decorated().seen == inside


@pytest.mark.parametrize("kind", HIDDEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("on", [False, True])
def test_other_setters_decorate_without_changing_the_mode(kind: Any, on: bool) -> None:
    before = all_modes()
    bit = HIDDEN.index(kind)

    @kind(on)
    def function() -> tuple[bool, ...]:
        return all_modes()

    assert all_modes() == before
    assert function()[2 + bit] is on
    assert all_modes() == before


@pytest.mark.parametrize("wrong", [3, "text", None, 1.5, []], ids=stable_repr)
@pytest.mark.parametrize("make", SETTERS.values(), ids=SETTERS.keys())
def test_decorator_refuses_objects_that_are_not_callable(make: Callable[[bool], Any], wrong: object) -> None:
    before = all_modes()
    with pytest.raises(TypeError):
        make(False)(wrong)
    interlock.set_grad_enabled(True)
    for kind in HIDDEN:
        kind(before[2 + HIDDEN.index(kind)])
    assert all_modes() == before


@EACH
def test_decorated_function_may_return_a_generator_without_being_one(mode: Mode) -> None:
    @mode.make()
    def function() -> Iterator[State]:
        return iter([public_modes()])

    assert next(function()) == mode.inside
    assert not inspect.isgeneratorfunction(function)


@EACH
def test_partial_object_and_an_object_with_call_can_be_decorated(mode: Mode) -> None:
    class Callable_:
        def __call__(self, x: int) -> tuple[int, State]:
            return x, public_modes()

    assert mode.make()(functools.partial(lambda x: (x, public_modes()), 3))() == (3, mode.inside)
    assert mode.make()(Callable_())(4) == (4, mode.inside)


def test_no_named_arguments_are_none_also_as_an_empty_dict() -> None:
    nothing: dict[str, Any] = {}
    assert interlock.no_grad()(lambda: 3, **nothing)() == 3
