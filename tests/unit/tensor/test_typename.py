"""`typename`: the names of types."""

from __future__ import annotations

import interlock
import pytest


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (interlock.ones(1), "interlock.FloatTensor"),
        (interlock.ones(1, dtype=interlock.float64), "interlock.DoubleTensor"),
        (interlock.ones(1, dtype=interlock.int64), "interlock.LongTensor"),
        (interlock.ones(1, dtype=interlock.int32), "interlock.IntTensor"),
        (interlock.ones(1, dtype=interlock.uint8), "interlock.ByteTensor"),
        (interlock.ones(1, dtype=interlock.bool), "interlock.BoolTensor"),
        (3, "int"),
        (None, "NoneType"),
        (int, "int"),
        (len, "len"),
        (interlock.no_grad, "interlock.autograd.grad_mode.no_grad"),
        (interlock.device("cpu"), "interlock.device"),
        (pytest.fixture, "_pytest.fixtures.fixture"),
    ],
)
def test_object_is_named_by_its_class_and_a_class_or_function_by_itself(obj: object, name: str) -> None:
    assert interlock.typename(obj) == name
