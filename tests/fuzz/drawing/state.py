"""The tensors of a program, and the draws of operands from them."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.programs import DTYPES, HALVES, INTEGERS, Step

SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, 1e-30)
SHAPES: tuple[list[int], ...] = (
    [],
    [1],
    [3],
    [2, 3],
    [3, 2],
    [3, 3],
    [1, 3],
    [2, 1, 3],
    [0],
    [0, 3],
    [2, 0],
    [4],
    [2, 2],
)


class Drawing:
    """Draws the operands of steps from the tensors of a program, and steps that create tensors."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.device = random.choice(("cpu", "cpu", "host:0", "host:1"))
        others = random.choices(((), (*HALVES, *HALVES), INTEGERS), (55, 35, 10))[0]
        self.dtypes = (*DTYPES, *others) if others else DTYPES
        self.tensors: list[Any] = []
        """The results of the steps so far; None for an error."""
        self.queued: list[Step] = []
        """Steps that follow a drawn one."""

    @property
    def has_halves(self) -> bool:
        """Whether the program may have tensors of halves. It records no gradients then."""
        return "float16" in self.dtypes

    @property
    def has_integers(self) -> bool:
        """Whether the program may have tensors of other integers than int64."""
        return "int32" in self.dtypes

    def choose(self, *, floating: bool = False) -> int | None:
        """Return the number of a tensor."""
        numbers = [
            number
            for number, tensor in enumerate(self.tensors)
            if tensor is not None and (not floating or tensor.dtype.is_floating_point)
        ]
        if not numbers:
            return None
        # Later tensors have a longer history.
        return self.random.choice(numbers[-5:] if self.random.random() < 0.6 else numbers)

    def leaf(self) -> Step:
        """Return a step that creates a tensor from data."""
        return self.filled(
            self.random.choice(SHAPES), self.random.choice((*self.dtypes, "float32", "float64"))
        )

    def filled(self, shape: list[int], dtype: str, *, special: bool = True) -> Step:
        """Return a step that creates a tensor of a shape and a dtype, of special numbers if `special`."""
        floating = dtype not in ("int64", "bool", *INTEGERS)
        special = special and floating and self.random.random() < 0.25

        def element() -> Any:
            if dtype == "bool":
                return self.random.random() < 0.5
            if dtype == "uint8":
                return self.random.choice((0, 1, 2, 3, 250, self.random.randrange(256)))
            if dtype in ("int64", *INTEGERS):
                return self.random.choice((0, 1, 2, -1, 3, 7, -5, self.random.randrange(-9, 10)))
            if special and self.random.random() < 0.4:
                return self.random.choice(SPECIAL)
            return round(self.random.uniform(-3, 3), 3)

        def nested(sizes: list[int]) -> Any:
            return element() if not sizes else [nested(sizes[1:]) for _ in range(sizes[0])]

        requires_grad = floating and not self.has_halves and self.random.random() < 0.6
        if 0 in shape:
            return Step("zeros", [shape, {"dtype": dtype}, self.device])
        return Step("leaf", [nested(shape), {"dtype": dtype}, requires_grad, self.device])

    def creation(self) -> Step:
        """Return a step that creates a tensor without data."""
        way = self.random.randrange(4)
        number = self.choose()
        if way == 0 or number is None:
            return Step("full", [self.random.choice(SHAPES), self.number(), self.device])
        if way == 1:
            return Step(
                "arange", [0, self.random.choice((0, 1, 5)), self.random.choice((1, 2, 0.5)), self.device]
            )
        return Step(self.random.choice(("zeros_like", "ones_like")), [{"t": number}])

    def number(self) -> Any:
        """Return a number as an operand."""
        numbers = (2, 0, 1, -1, 3, 0.5, -2.0, True, 1.5, 0.0, 1e300, float("inf"), float("nan"))
        # Numbers that halves round, and one that is beyond the range of float16.
        return self.random.choice((*numbers, 0.3, 0.3, -1.1, 100000) if self.has_halves else numbers)

    def like(self, number: int) -> int:
        """Return another tensor, mostly one that broadcasts."""
        shape = list(self.tensors[number].shape)
        fitting = [
            index
            for index, tensor in enumerate(self.tensors)
            if tensor is not None and broadcasts(shape, list(tensor.shape))
        ]
        if fitting and self.random.random() < 0.9:
            return self.random.choice(fitting)
        other = self.choose()
        return number if other is None else other

    def dim(self, number: int) -> int:
        """Return a dimension of a tensor; rarely an invalid one."""
        rank = self.tensors[number].ndim
        if not rank or self.random.random() < 0.04:
            return self.random.choice((0, -1, 5))
        return self.random.randrange(-rank, rank)

    def operand(self, shape: list[int], dtype: str, count: int, *, special: bool = True) -> tuple[int, int]:
        """Queue the steps of a tensor of any layout. Return its number and the number of the next tensor.

        Its elements may be infinite or NaN if `special`.
        """
        layout = self.random.choice(("contiguous", "transposed", "every second", "expanded"))
        last = len(shape) - 1
        stored = list(shape)
        views: list[tuple[str, list[Any]]] = []
        if layout == "transposed" and last:
            stored[-1], stored[-2] = stored[-2], stored[-1]
            views.append(("transpose", [-1, -2]))
        elif layout == "every second":
            stored[last] *= 2
            every = [{"slice": [None, None, None]}] * last
            views.append(("getitem", [{"tuple": [*every, {"slice": [None, None, 2]}]}]))
        elif layout == "expanded":
            stored[self.random.randrange(len(shape))] = 1
            views.append(("expand", [shape]))
        self.queued.append(self.filled(stored, dtype, special=special))
        for number, (name, arguments) in enumerate(views, count):
            self.queued.append(Step(name, [{"t": number}, *arguments]))
        return count + len(views), count + len(views) + 1


def broadcasts(one: list[int], other: list[int]) -> bool:
    """Return whether two shapes broadcast."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(size == another or 1 in (size, another) for size, another in pairs)
