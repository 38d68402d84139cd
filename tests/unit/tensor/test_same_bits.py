"""The bits of results do not depend on the number of threads, for random shapes and layouts."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import interlock
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from tests.unit.tensor.same_bits import assert_same_bits

pytestmark = pytest.mark.usefixtures("num_threads_restored")

LONG = os.environ.get("LONG_TESTS") == "1"

# The numbers of elements and of multiplications from which on operations run on several threads: the
# constants of rust/tensor/src with these names.
THREADED_ELEMENTS = 1 << 20
THREADED_WORK = 1 << 26

FLOATS = ("float32", "float64")
NUMBERS = (*FLOATS, "int64")
DTYPES = (*NUMBERS, "bool")


def examples(number: int) -> settings:
    """Return settings for equal examples in every run, or with `LONG_TESTS=1` for many random ones."""
    return settings(
        max_examples=50 * number if LONG else number,
        derandomize=not LONG,
        deadline=None,
        database=None,
        print_blob=True,
    )


@functools.cache
def values() -> npt.NDArray[np.float64]:
    """Return numbers of both signs, with an infinity, a NaN or a zero among a thousand."""
    generator = np.random.default_rng(0)
    numbers = 100 * generator.normal(size=4 * THREADED_ELEMENTS)
    special = generator.integers(numbers.size, size=numbers.size // 1000)
    numbers[special] = np.resize([math.inf, -math.inf, math.nan, 0.0, -0.0], special.size)
    return numbers


def random(shape: tuple[int, ...], dtype: str, is_finite: bool = False) -> interlock.Tensor:
    """Return a contiguous tensor."""
    count = math.prod(shape)
    numbers = np.resize(values(), count) if count > values().size else values()[:count]
    if is_finite or dtype not in FLOATS:
        numbers = np.nan_to_num(numbers, nan=0.0, posinf=7.0, neginf=-7.0)
    converted = numbers > 0 if dtype == "bool" else numbers.astype(dtype)
    return interlock.from_numpy(np.ascontiguousarray(converted).reshape(shape))


class Operand(NamedTuple):
    """A tensor whose number of elements is just large enough for several threads."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    dim: int
    """The dimension that is sliced or expanded."""
    order: tuple[int, ...]
    """The order of the dimensions in memory, if they are permuted."""

    def tensor(self) -> interlock.Tensor:
        """Return a new tensor."""
        stored = list(self.shape)
        if self.layout == "permuted":
            inverse = [self.order.index(dim) for dim in range(len(self.order))]
            return random(tuple(self.shape[dim] for dim in self.order), self.dtype).permute(*inverse)
        if self.layout == "expanded":
            stored[self.dim] = 1
            return random(tuple(stored), self.dtype).expand(*self.shape)
        if self.layout == "sliced":
            stored[self.dim] = 2 * stored[self.dim] + 1
            every_other = (slice(None),) * self.dim + (slice(1, None, 2),)
            return random(tuple(stored), self.dtype)[every_other]
        return random(self.shape, self.dtype)


# The first of each is part of the first example of each test, which is the simplest.
LAYOUTS = ("permuted", "sliced", "expanded", "contiguous")
SIZES = (17, 3, 64, 129, 1000, 2, 5, 8, 1)


@st.composite
def operands(
    draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES, layouts: tuple[str, ...] = LAYOUTS
) -> Operand:
    """Draw an operand of two to four dimensions, one of which makes it large enough."""
    sizes = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3))
    while math.prod(sizes) > 1 << 16:
        sizes.pop()
    large = math.ceil(THREADED_ELEMENTS / math.prod(sizes)) + draw(st.integers(0, 3))
    sizes.insert(draw(st.integers(0, len(sizes))), large)
    dims = range(len(sizes))
    layout = draw(st.sampled_from(layouts))
    order = tuple(reversed(draw(st.permutations(dims))))
    return Operand(tuple(sizes), draw(st.sampled_from(dtypes)), layout, draw(st.sampled_from(dims)), order)


REDUCTIONS = {
    "sum": DTYPES,
    "mean": FLOATS,
    "amax": NUMBERS,
    "amin": NUMBERS,
    "argmax": NUMBERS,
    "argmin": NUMBERS,
}


@pytest.mark.parametrize("dtype", DTYPES)
@examples(2)
@given(data=st.data())
def test_reductions_over_each_dim(dtype: str, data: st.DataObject) -> None:
    operand = data.draw(operands((dtype,)))
    x = operand.tensor()
    name = data.draw(
        st.sampled_from([name for name, dtypes in REDUCTIONS.items() if operand.dtype in dtypes])
    )
    keepdim = data.draw(st.booleans())
    for dim in range(x.ndim):
        assert_same_bits(lambda dim=dim: getattr(x, name)(dim, keepdim), (name, dim))
    whole = () if name in ("amax", "amin") else None
    assert_same_bits(lambda: getattr(x, name)(whole), name)


@examples(2)
@given(operands(), st.data())
def test_reductions_over_several_dims(operand: Operand, data: st.DataObject) -> None:
    x = operand.tensor()
    dims = data.draw(st.lists(st.sampled_from(range(x.ndim)), min_size=1, unique=True))
    names = ["sum"] if operand.dtype == "bool" else ["sum", "amax"]
    for name, keepdim in itertools.product(names, (False, True)):
        assert_same_bits(lambda name=name, keepdim=keepdim: getattr(x, name)(dims, keepdim), (name, dims))


Binary = Callable[[Any, Any], interlock.Tensor]

# Operations on each element: the dtypes, and the computation from a tensor and one that is broadcast to it.
ELEMENTWISE: dict[str, tuple[tuple[str, ...], Binary]] = {
    **{
        name: (FLOATS, lambda x, _, name=name: getattr(x, name)())
        for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid")
    },
    **{name: (NUMBERS, lambda x, _, name=name: getattr(x, name)()) for name in ("neg", "abs", "relu")},
    **{
        name: (DTYPES, lambda x, _, name=name: x.to(getattr(interlock, name)))
        for name in ("float32", "float64", "int64", "bool")
    },
    "add": (NUMBERS, lambda x, y: x + y),
    "sub": (NUMBERS, lambda x, y: y - x),
    "mul": (NUMBERS, lambda x, y: x * y),
    "div": (FLOATS, lambda x, y: x / y),
    "pow": (NUMBERS, lambda x, _: x**2),
    "number": (NUMBERS, lambda x, _: 3 - x * 2),
    "eq": (DTYPES, lambda x, y: x == y),
    "gt": (NUMBERS, lambda x, y: x > y),
    "logical_not": (DTYPES, lambda x, _: x.logical_not()),
    "clone": (DTYPES, lambda x, _: x.clone()),
    "contiguous": (DTYPES, lambda x, _: x.contiguous()),
    "flip": (DTYPES, lambda x, _: x.flip(0, -1)),
    "tril": (DTYPES, lambda x, _: x.tril()),
    "repeat": (DTYPES, lambda x, _: x.tile(2)),
}


@pytest.mark.slow
@examples(6)
@given(operands(), st.data())
def test_elementwise_operations(operand: Operand, data: st.DataObject) -> None:
    x = operand.tensor()
    is_broadcast = data.draw(st.lists(st.booleans(), min_size=x.ndim, max_size=x.ndim))
    sizes = zip(operand.shape, is_broadcast, strict=True)
    y = random(tuple(1 if broadcast else size for size, broadcast in sizes), operand.dtype)
    names = [name for name, (dtypes, _) in ELEMENTWISE.items() if operand.dtype in dtypes]
    for name in data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True)):
        assert_same_bits(lambda name=name: ELEMENTWISE[name][1](x, y), name)


@examples(6)
@given(
    operands(NUMBERS, ("contiguous", "sliced")),
    st.sampled_from(("add_", "mul_", "sub_", "copy_")),
)
def test_in_place_operations(operand: Operand, name: str) -> None:
    first = random((1, *operand.shape[1:]), operand.dtype)
    assert_same_bits(lambda: getattr(operand.tensor(), name)(first), name)


@pytest.mark.slow
@examples(3)
@given(operands(FLOATS), st.data())
def test_softmax_over_a_dim(operand: Operand, data: st.DataObject) -> None:
    x = operand.tensor()
    name = data.draw(st.sampled_from(("softmax", "log_softmax")))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_same_bits(lambda: getattr(x, name)(dim), (name, dim))


class Product(NamedTuple):
    """The shapes of a product that is just large enough for several threads."""

    batch: tuple[int, ...]
    rows: int
    depth: int
    columns: int
    is_transposed: tuple[bool, bool]
    """Whether the operands are transposed in memory."""

    def operands(self, dtype: str) -> tuple[interlock.Tensor, interlock.Tensor]:
        """Return new operands; the right one is broadcast over the batch."""
        shapes = ((*self.batch, self.rows, self.depth), (self.depth, self.columns))
        pairs = zip(shapes, self.is_transposed, strict=True)
        left, right = (self._matrix(shape, dtype, transposed) for shape, transposed in pairs)
        return left, right

    @staticmethod
    def _matrix(shape: tuple[int, ...], dtype: str, is_transposed: bool) -> interlock.Tensor:
        if not is_transposed:
            return random(shape, dtype, is_finite=True)
        return random((*shape[:-2], shape[-1], shape[-2]), dtype, is_finite=True).transpose(-1, -2)


@st.composite
def products(draw: st.DrawFn) -> Product:
    """Draw a product of matrices, or of a few matrices with one."""
    batch = draw(st.sampled_from(((), (2,), (2, 3))))
    rows, depth = draw(st.integers(100, 900)), draw(st.integers(30, 3000))
    columns = math.ceil(THREADED_WORK / (math.prod(batch) * rows * depth)) + draw(st.integers(0, 3))
    return Product(batch, rows, depth, columns, draw(st.tuples(st.booleans(), st.booleans())))


def check_products(dtype: str, product: Product) -> None:
    left, right = product.operands(dtype)
    assert_same_bits(lambda: left @ right)


@examples(25)
@given(st.sampled_from(FLOATS), products())
def test_products_of_floats(dtype: str, product: Product) -> None:
    check_products(dtype, product)


@examples(1)
@given(products())
def test_products_of_integers(product: Product) -> None:
    check_products("int64", product)
