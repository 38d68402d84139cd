"""Operators of tensors with operands of other types, whose reflected methods Python tries."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor

INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "sub": operator.isub,
    "mul": operator.imul,
    "truediv": operator.itruediv,
    "floordiv": operator.ifloordiv,
    "mod": operator.imod,
    "pow": operator.ipow,
    "matmul": operator.imatmul,
    "and": operator.iand,
    "or": operator.ior,
    "xor": operator.ixor,
    "lshift": operator.ilshift,
    "rshift": operator.irshift,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}


class Foreign:
    """An operand whose reflected methods return their names."""


for _name in BINARY:
    setattr(Foreign, f"__r{_name}__", lambda self, left, name=_name: f"r{name}")


class Plain:
    """An operand without operators."""


@pytest.mark.parametrize("name", BINARY)
def test_operators_try_the_reflected_method_of_another_type(name: str) -> None:
    x = interlock.ones(2, dtype=interlock.int64)
    assert BINARY[name](x, Foreign()) == f"r{name}"
    assert INPLACE[name](x, Foreign()) == f"r{name}"
    assert (x.tolist(), x._version) == ([1, 1], 0)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [Plain(), None, {}, 1j], ids=lambda value: type(value).__name__)
def test_operators_without_a_method_that_fits_raise_the_error_of_python(name: str, other: object) -> None:
    x = interlock.ones(2, dtype=interlock.int64)
    for operators in (BINARY, INPLACE):
        with pytest.raises(TypeError, match=r"^unsupported operand type"):
            operators[name](x, other)
    assert x.tolist() == [1, 1]


def test_a_sequence_is_repeated_by_a_tensor_that_is_an_index() -> None:
    x = interlock.tensor(2)
    assert x * "ab" == "abab"


@pytest.mark.parametrize(
    "other",
    [2, 2.0, np.float32(2), np.int64(2), np.full(2, 2.0), interlock.full((2,), 2.0)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_in_place_operators_accept_numbers_arrays_and_tensors(name: str, other: Any) -> None:
    x = interlock.full((2,), 3.0)
    expected = BINARY[name](x, other)
    assert INPLACE[name](x, other) is x
    assert x.tolist() == expected.tolist()


def test_in_place_operators_accept_a_subclass() -> None:
    class Own(Tensor):
        def __radd__(self, left: object) -> Tensor:
            raise AssertionError("the in-place method of the left operand fits")

    x = interlock.ones(2)
    x += Own(interlock.ones(2))
    assert x.tolist() == [2.0, 2.0]


def test_in_place_operators_raise_errors_of_an_operand_that_fits() -> None:
    class Broken:
        @property
        def dtype(self) -> None:
            raise ZeroDivisionError

        def __radd__(self, left: object) -> str:
            return "radd"

    x = interlock.ones(2, dtype=interlock.int64)
    with pytest.raises(OverflowError, match=r"^add_: other must be an int that int64 can hold"):
        x += 2**70
    with pytest.raises(ZeroDivisionError):
        x += Broken()  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        x + Broken()
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    "compare", [operator.lt, operator.le, operator.gt, operator.ge], ids=["lt", "le", "gt", "ge"]
)
def test_comparisons_try_the_method_of_another_type(compare: Callable[[Any, Any], Any]) -> None:
    class Compared:
        def __lt__(self, other: object) -> str:
            return "lt"

        __le__ = __gt__ = __ge__ = __lt__

    assert compare(interlock.ones(2), Compared()) == "lt"
    with pytest.raises(TypeError, match="not supported between instances"):
        compare(interlock.ones(2), Plain())


def test_comparisons_for_equality_with_another_type_are_those_of_python() -> None:
    assert (interlock.ones(2) == Plain(), interlock.ones(2) != Plain()) == (False, True)
