"""Operations that take long detach from the interpreter, so that other threads run Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor, _core
from interlock.nn import functional

SIDE = 200
COLUMN, ROW = interlock.ones(SIDE, 1), interlock.ones(1, SIDE)
POSITIONS = COLUMN.long() % 2, ROW.long() % 2
SMALL, NUMBERS = interlock.ones(2, 2), interlock.arange(SIDE)

# Few input elements, many results or visits.
LONG: dict[str, Callable[[], Any]] = {
    "add": lambda: COLUMN + ROW,
    "function": lambda: interlock.mul(COLUMN, ROW),
    "comparison": lambda: COLUMN < ROW,
    "where": lambda: interlock.where(COLUMN > 0, COLUMN, ROW),
    "maximum": lambda: interlock.max(COLUMN, ROW),
    "lerp": lambda: interlock.lerp(COLUMN, ROW, 0.5),
    "isclose": lambda: interlock.isclose(COLUMN, ROW),
    "allclose": lambda: interlock.allclose(COLUMN, ROW),
    "mse_loss": lambda: functional.mse_loss(COLUMN, ROW),
    "one_hot": lambda: functional.one_hot(NUMBERS),
    "one_hot of classes": lambda: functional.one_hot(NUMBERS, SIDE),
    "repeat": lambda: SMALL.repeat(SIDE, SIDE),
    "contiguous": lambda: COLUMN.expand(SIDE, SIDE).contiguous(),
    "sum": lambda: COLUMN.expand(SIDE, SIDE).sum(),
    "index": lambda: SMALL[POSITIONS],
    "set_index": lambda: SMALL.clone().__setitem__(POSITIONS, 1.0),
    "index_put": lambda: SMALL.index_put(POSITIONS, SMALL[0, 0]),
    "index_select": lambda: interlock.ones(1, SIDE).index_select(0, NUMBERS * 0),
    "take": lambda: SMALL.take(NUMBERS.expand(SIDE, SIDE) % 4),
    "outer": lambda: interlock.outer(NUMBERS, NUMBERS),
    "matmul": lambda: COLUMN @ ROW,
    "einsum": lambda: interlock.einsum("i,j->ij", NUMBERS, NUMBERS),
    "tile": lambda: SMALL.tile((SIDE, SIDE)),
    "repeat_interleave": lambda: SMALL.repeat_interleave(SIDE * SIDE),
    "zeros": lambda: interlock.zeros(SIDE, SIDE),
    "eye": lambda: interlock.eye(SIDE),
    "masked_fill": lambda: COLUMN.masked_fill(ROW > 0, 1.0),
}


def detaches(operation: Callable[[], Any]) -> int:
    before = _core._detach_count()
    operation()
    return _core._detach_count() - before


@pytest.mark.filterwarnings("ignore:mse_loss")
@pytest.mark.parametrize("name", LONG)
def test_operation_with_many_results_detaches(name: str) -> None:
    assert detaches(LONG[name]) > 0


def test_operation_with_few_results_stays_attached() -> None:
    small: list[Callable[[], Tensor | float]] = [
        lambda: SMALL + SMALL,
        lambda: SMALL[0, 0].item(),
        lambda: COLUMN.expand(SIDE, SIDE)[0, 0] * 2,
        lambda: SMALL.sum(),
    ]
    assert [detaches(operation) for operation in small] == [0] * len(small)
