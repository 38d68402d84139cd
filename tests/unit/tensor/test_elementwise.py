"""Elementwise operations: functions, methods, in-place methods and `out`."""

from __future__ import annotations

import math
from collections.abc import Callable

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator, bfloat16, float16, float32, float64, int64, tensor
from interlock.errors import ArgumentError, DTypeError, ShapeError

NAN, INF = math.nan, math.inf

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "acos": math.acos,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": math.atanh,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "erfc": math.erfc,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "sin": math.sin,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
}
"""Functions of numbers from 0 to 1."""

SOURCE = [0.25, 0.5, 0.75]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_the_math_module(name: str) -> None:
    expected = [FUNCTIONS[name](value) for value in SOURCE]
    x = tensor(SOURCE, dtype=float64)
    function, method = getattr(interlock, name), getattr(x, name)
    assert function(x).tolist() == pytest.approx(expected, rel=1e-14)
    assert method().tolist() == function(x).tolist()
    out = interlock.empty(3, dtype=float64)
    assert function(x, out=out) is out
    assert out.tolist() == function(x).tolist()
    address, changed = x.data_ptr(), getattr(x, f"{name}_")()
    assert changed is x
    assert (x.data_ptr(), x._version) == (address, 1)
    assert x.tolist() == out.tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_halves_are_rounded_once(name: str) -> None:
    for dtype in (float16, bfloat16):
        x = tensor(SOURCE, dtype=dtype)
        exact = getattr(interlock, name)(x.float()).to(dtype)
        assert getattr(interlock, name)(x).tolist() == exact.tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_integers_are_float32(name: str) -> None:
    ints = tensor([1, 1])
    result = getattr(interlock, name)(ints)
    assert result.dtype == float32
    assert result.tolist() == pytest.approx(
        getattr(interlock, name)(ints.float()).tolist(), nan_ok=True, rel=0, abs=0
    )
    with pytest.raises(DTypeError, match=f"{name}_: the result must be castable to int64"):
        getattr(ints, f"{name}_")()
    assert ints.tolist() == [1, 1]


def test_rounding_returns_integers_unchanged_and_refuses_bools() -> None:
    x = tensor([-2.5, -0.5, 0.5, 1.7])
    assert x.ceil().tolist() == [-2.0, -0.0, 1.0, 2.0]
    assert x.floor().tolist() == [-3.0, -1.0, 0.0, 1.0]
    assert x.trunc().tolist() == [-2.0, -0.0, 0.0, 1.0]
    assert x.round().tolist() == [-2.0, -0.0, 0.0, 2.0]
    assert x.frac().tolist() == pytest.approx([-0.5, -0.5, 0.5, 0.7])
    assert tensor([1.25, 123.0]).round(decimals=-1).tolist() == [0.0, 120.0]
    big = tensor([2**62 + 1])
    for name in ("ceil", "floor", "trunc", "round"):
        assert getattr(big, name)().tolist() == [2**62 + 1]
        with pytest.raises(DTypeError, match=name):
            getattr(tensor([True]), name)()
    with pytest.raises(DTypeError, match="frac: input must be floating point, got int64"):
        big.frac()
    with pytest.raises(DTypeError, match="round: input must be floating point"):
        big.round(decimals=1)


def test_signs_and_special_values() -> None:
    x = tensor([-0.0, 1.0, NAN, INF, -INF])
    assert x.isnan().tolist() == [False, False, True, False, False]
    assert x.isinf().tolist() == [False, False, False, True, True]
    assert x.isfinite().tolist() == [True, True, False, False, False]
    assert x.signbit().tolist() == [True, False, False, False, True]
    assert x.sign().tolist() == [0.0, 1.0, 0.0, 1.0, -1.0]
    assert x.nan_to_num(nan=5, neginf=-3.0).tolist() == [-0.0, 1.0, 5.0, 3.4028234663852886e38, -3.0]
    assert tensor([INF], dtype=float16).nan_to_num().tolist() == [65504.0]
    assert tensor([3]).isfinite().tolist() == [True]
    assert interlock.positive(x) is x
    with pytest.raises(DTypeError, match="positive: input must be numeric"):
        interlock.positive(tensor([True]))
    with pytest.raises(DTypeError, match="positive: input must be numeric"):
        +tensor([True])


def test_maximum_and_minimum_propagate_nan_and_promote() -> None:
    x, y = tensor([1.0, NAN, -2.0]), tensor([2.0, 3.0, NAN])
    assert str(interlock.maximum(x, y)) == "tensor([2., nan, nan])"
    assert str(interlock.minimum(x, y)) == "tensor([1., nan, nan])"
    assert interlock.fmax(x, y).tolist() == [2.0, 3.0, -2.0]
    assert interlock.fmin(x, y).tolist() == [1.0, 3.0, -2.0]
    assert interlock.maximum(tensor([1]), tensor([True])).dtype == int64
    with pytest.raises(TypeError, match="maximum: other must be a Tensor, got int"):
        x.maximum(2)  # type: ignore[arg-type]


def test_bitwise_operators_accept_integers_and_bools() -> None:
    x = tensor([6, -1])
    assert ((x & 3).tolist(), (3 | x).tolist(), (x ^ x).tolist(), (~x).tolist()) == (
        [2, 3],
        [7, -1],
        [0, 0],
        [-7, 0],
    )
    mask = tensor([True, False])
    assert (mask & True).dtype == interlock.bool
    assert (~mask).tolist() == [False, True]
    x &= 4
    assert x.tolist() == [4, 4]
    with pytest.raises(DTypeError, match="bitwise_and: the promoted dtype must be an integer or bool tensor"):
        x & 0.5
    with pytest.raises(TypeError):
        ~tensor([1.0])


def test_logical_operations_return_bools() -> None:
    x, y = tensor([0.0, 2.0, NAN]), tensor([1, 0, 3])
    assert interlock.logical_and(x, y).tolist() == [False, False, True]
    assert x.logical_or(y).tolist() == [True, True, True]
    assert x.logical_xor(y).tolist() == [True, True, False]
    assert x.logical_not_().tolist() == [1.0, 0.0, 0.0]


def test_rounded_division_follows_python() -> None:
    x = tensor([7, -7, 0])
    assert (x // 2).tolist() == [3, -4, 0]
    assert (7 // tensor([2, -2])).tolist() == [3, -4]
    assert x.div(2, rounding_mode="trunc").tolist() == [3, -3, 0]
    assert x.fmod(4).tolist() == [3, -3, 0]
    assert (tensor([1.0]) // 0.1).tolist() == [1.0 // 0.1]
    assert str(tensor([1.0, -1.0, 0.0]) // 0) == "tensor([inf, -inf, nan])"
    x //= 2
    assert x.tolist() == [3, -4, 0]
    with pytest.raises(ArgumentError, match="div: rounding_mode must be None, 'floor' or 'trunc', got"):
        x.div(2, rounding_mode="up")  # type: ignore[arg-type]


def test_rounded_division_of_the_least_integer_wraps() -> None:
    x, y = tensor([-(2**63), -(2**63), 7, -7]), tensor([-1, 10, -3, 3])
    assert (x // y).tolist() == [-(2**63), -(2**63) // 10, -3, -3]
    assert x.div(y, rounding_mode="trunc").tolist() == [-(2**63), -(2**63 // 10), -2, -2]
    assert (x % y).tolist() == [0, 2, -2, 2]
    assert x.fmod(y).tolist() == [0, -8, 1, -1]


def test_relu_keeps_nan_and_has_gradient_0_at_0() -> None:
    x = tensor([NAN, 0.0, -0.0], requires_grad=True)
    y = x.relu()
    assert (math.isnan(y[0].item()), y[1:].tolist()) == (True, [0.0, 0.0])
    y.sum().backward()
    assert x.grad is not None
    assert x.grad[1:].tolist() == [0.0, 0.0]
    assert tensor([1, 0]).relu().dtype == int64


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_no_integers_are_divided_by_0(name: str) -> None:
    x = interlock.zeros(0, 2, dtype=int64)
    for other in (0, tensor(0), tensor([0, 0]), x):
        assert getattr(interlock, name)(x, other).shape == (0, 2)
        assert getattr(x, f"{name}_")(other) is x
    assert getattr(interlock, name)(interlock.zeros(0, 1, dtype=int64), tensor([[1, 0]])).shape == (0, 2)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_0_are_an_error_without_effect(name: str) -> None:
    x = tensor([1, 2])
    with pytest.raises(ArgumentError, match=f"{name}: other must not be 0 for integers"):
        getattr(interlock, name)(x, 0)
    with pytest.raises(RuntimeError, match=name):
        getattr(x, f"{name}_")(tensor([1, 0]))
    assert (x.tolist(), x._version) == ([1, 2], 0)
    with pytest.raises(DTypeError, match=f"{name}: the promoted dtype must be numeric, got bool"):
        getattr(interlock, name)(tensor([True]), tensor([True]))


def test_floor_divide_has_no_gradient() -> None:
    x = tensor([7.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="floor_divide: the operation has no gradient"):
        (x // 2).backward()
    x.div(2, rounding_mode="floor").backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0]


def test_functions_accept_numbers_on_the_left() -> None:
    x = tensor([1, 2])
    assert interlock.add(5, x, alpha=2).tolist() == [7, 9]
    assert interlock.sub(5, x).tolist() == [4, 3]
    assert interlock.mul(2.5, x).tolist() == [2.5, 5.0]
    assert interlock.div(1, x).tolist() == [1.0, 0.5]
    assert interlock.pow(3, x).tolist() == [3, 9]
    assert interlock.remainder(5, x).tolist() == [0, 1]
    assert interlock.add(2, 3).tolist() == 5
    with pytest.raises(TypeError, match="fmod: input must be a Tensor, got int"):
        interlock.fmod(5, x)  # type: ignore[arg-type]


def test_comparisons_are_functions_and_methods() -> None:
    x = tensor([1, 2, 3])
    for name, expected in {
        "eq": [False, True, False],
        "ne": [True, False, True],
        "lt": [True, False, False],
        "le": [True, True, False],
        "gt": [False, False, True],
        "ge": [False, True, True],
    }.items():
        assert getattr(interlock, name)(x, 2).tolist() == expected
        assert getattr(x, name)(tensor([2])).tolist() == expected
        assert getattr(x.clone(), f"{name}_")(2).tolist() == [int(value) for value in expected]


def test_second_names_are_the_same_operations() -> None:
    x = tensor([-1.5])
    assert interlock.absolute(x).tolist() == x.absolute().tolist() == [1.5]
    half = tensor([0.5, 0.25])
    for name in ("arccos", "arcsin", "arcsinh", "arctan", "arctanh"):
        first = f"a{name[3:]}"
        expected = getattr(interlock, first)(half).tolist()
        assert getattr(interlock, name)(half).tolist() == getattr(half, name)().tolist() == expected
        assert getattr(interlock, f"{name}_")(half.clone()).tolist() == expected
        assert getattr(half.clone(), f"{name}_")().tolist() == expected
    assert interlock.arccosh(tensor([1.0])).tolist() == interlock.arccosh_(tensor([1.0])).tolist() == [0.0]
    assert interlock.clip_(x.clone(), -1, 1).tolist() == [-1.0]
    assert interlock.fix_(x.clone()).tolist() == [-1.0]
    assert interlock.negative_(x.clone()).tolist() == [1.5]
    assert interlock.arctan2(x, x).tolist() == interlock.atan2(x, x).tolist()
    for name, operation in {
        "multiply": "mul",
        "subtract": "sub",
        "divide": "div",
        "true_divide": "div",
    }.items():
        expected = getattr(interlock, operation)(half, 3.0).tolist()
        assert getattr(interlock, name)(half, 3.0).tolist() == getattr(half, name)(3.0).tolist() == expected
        assert getattr(half.clone(), f"{name}_")(3.0).tolist() == expected
    assert x.fix().tolist() == [-1.0]
    assert x.clip(0).tolist() == [0.0]
    assert x.multiply_(2) is x
    assert x.tolist() == [-3.0]
    assert interlock.true_divide(x, 2).tolist() == [-1.5]


def test_where_of_a_condition_alone_returns_the_coordinates() -> None:
    x = tensor([[0.0, 2.0], [3.0, 0.0]])
    coordinates = interlock.where(x)
    assert [each.tolist() for each in coordinates] == [[0, 1], [1, 0]]
    assert [each.tolist() for each in interlock.where(condition=tensor(True))] == [[0]]
    for arguments in ((x > 0, x), (x > 0, None, x)):
        with pytest.raises(TypeError, match=r"^where: (other|input) must be passed with"):
            interlock.where(*arguments)
    with pytest.raises(TypeError, match=r"^where: out must be None"):
        interlock.where(x > 0, out=tensor([]))  # type: ignore[call-overload]


def test_where_selects_broadcasts_and_promotes() -> None:
    x = tensor([[1.0], [-2.0]])
    assert interlock.where(x > 0, x, tensor([0, 5])).tolist() == [[1.0, 1.0], [0.0, 5.0]]
    assert interlock.where(x > 0, 1, 2).dtype == int64
    assert interlock.where(x > 0, 1, 0.5).dtype == float32
    assert interlock.where(x > 0, x.half(), 1.5).dtype == float16
    assert x.where(x > 0, 0).tolist() == [[1.0], [0.0]]
    with pytest.raises(DTypeError, match="where: condition must be a bool tensor, got float32"):
        interlock.where(x, x, x)
    with pytest.raises(ShapeError, match="where: shapes"):
        interlock.where(tensor([True, False, True]), tensor([1.0, 2.0]), 0)


def test_where_and_masked_fill_pass_no_gradient_to_replaced_elements() -> None:
    x = tensor([0.0, 4.0], requires_grad=True)
    gradient = tensor([INF, 2.0])
    interlock.where(x > 0, x, NAN).backward(gradient)
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 2.0]
    x.grad = None
    x.masked_fill(x == 0, NAN).backward(gradient)
    assert x.grad.tolist() == [0.0, 2.0]


def test_clamp_limits_elements() -> None:
    x = tensor([-2.0, 0.5, NAN])
    assert str(x.clamp(-1, 0)) == "tensor([-1.,  0., nan])"
    assert str(x.clamp(max=tensor([0.0, 1.0, 2.0]))) == "tensor([-2.0000,  0.5000,     nan])"
    assert tensor([1, 5]).clamp(0.5, 2.5).tolist() == [1.0, 2.5]
    assert tensor([1.0, 5.0]).clamp(3, 2).tolist() == [2.0, 2.0]
    assert str(tensor([1.0]).clamp(min=NAN)) == "tensor([nan])"
    y = tensor([1.0, 5.0])
    assert y.clamp_(max=2) is y
    assert y.tolist() == [1.0, 2.0]
    assert y.clamp_min_(1.5).clamp_max_(1.75).tolist() == [1.5, 1.75]
    with pytest.raises(ArgumentError, match="clamp: min or max must not be None"):
        x.clamp()
    with pytest.raises(DTypeError, match="clamp_: the result must be castable to int64"):
        tensor([1]).clamp_(0.5)


def test_masked_fill_keeps_the_dtype() -> None:
    x = tensor([1, 2, 3])
    mask = tensor([True, False, True])
    assert x.masked_fill(mask, 2.5).tolist() == [2, 2, 2]
    assert x.masked_fill(mask, tensor(7.9)).tolist() == [7, 2, 7]
    assert x.masked_fill_(mask, 0) is x
    assert x.tolist() == [0, 2, 0]
    with pytest.raises(DTypeError, match="masked_fill: mask must be a bool tensor, got int64"):
        x.masked_fill(x, 0)
    with pytest.raises(ShapeError, match="masked_fill: value must be a number or a tensor of shape"):
        x.masked_fill(mask, tensor([1]))


def test_lerp_and_scaled_products() -> None:
    start, end = tensor([0.0, 10.0]), tensor([1.0, 20.0])
    assert interlock.lerp(start, end, 0.25).tolist() == [0.25, 12.5]
    assert start.lerp(end, tensor([1.0, 0.0])).tolist() == [1.0, 10.0]
    assert interlock.addcmul(start, end, end, value=2).tolist() == [2.0, 810.0]
    assert interlock.addcdiv(start, end, tensor([2, 4])).tolist() == [0.5, 15.0]
    ints = tensor([1, 2])
    assert ints.addcmul_(ints, ints, value=2.5).tolist() == [3, 10]
    with pytest.raises(DTypeError, match="addcdiv: tensor1 must be floating point unless tensor2 is"):
        interlock.addcdiv(ints, ints, ints)
    with pytest.raises(DTypeError, match="lerp: dtypes must match, got float32 and float64"):
        start.lerp(end.double(), 0.5)
    with pytest.raises(DTypeError, match="lerp: input must be floating point, got int64"):
        ints.lerp(ints, 0.5)


def test_results_keep_the_memory_order_of_operands() -> None:
    x = interlock.ones(2, 3).t()
    assert x.sin().stride() == interlock.maximum(x, x).stride() == (1, 3)
    assert interlock.where(x > 0, x, x).stride() == (1, 3)


@pytest.mark.parametrize("name", ["exp_", "sin_", "relu_", "sqrt_"])
def test_in_place_functions_record_the_operation(name: str) -> None:
    x = tensor([0.5, 2.0], requires_grad=True)
    y = x * 1
    getattr(y, name)()
    expected = getattr(x, name.removesuffix("_"))()
    assert y.grad_fn is not None
    assert expected.grad_fn is not None
    assert y.grad_fn.name() == expected.grad_fn.name()
    (own,) = interlock.autograd.grad(y.sum(), x)
    (other,) = interlock.autograd.grad(expected.sum(), x)
    assert own.tolist() == other.tolist()
    with pytest.raises(RuntimeError, match=f"{name}: a leaf tensor that requires grad"):
        getattr(x, name)()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *((f"{name}_", ()) for name in ("abs", "acos", "ceil", "exp", "log1p", "neg", "sigmoid", "trunc")),
        ("clamp_", (0.25, 0.5)),
        ("clamp_max_", (0.5,)),
        ("clamp_min_", (0.5,)),
        ("fill_", (3,)),
        ("nan_to_num_", (0.5,)),
        ("round_", ()),
        ("zero_", ()),
    ],
)
def test_in_place_functions_return_their_argument(name: str, args: tuple[float, ...]) -> None:
    x, y = tensor([0.25, 0.75]), tensor([0.25, 0.75])
    assert getattr(interlock, name)(x, *args) is x
    assert x.tolist() == getattr(y, name)(*args).tolist()
    with pytest.raises(TypeError, match=f"^{name}: input must be a Tensor, got float$"):
        getattr(interlock, name)(0.25, *args)


def test_in_place_functions_of_views_change_the_gradient_of_the_base() -> None:
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1:].square_()
    y.sum().backward()
    assert y.tolist() == [2.0, 16.0, 36.0]
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 16.0, 24.0]


def test_in_place_functions_refuse_overlapping_elements_and_other_shapes() -> None:
    with pytest.raises(RuntimeError, match="exp_: several elements of the target share one memory location"):
        interlock.ones(1).expand(3).exp_()
    with pytest.raises(ShapeError, match=r"pow_: the result must be of shape \(2,\), got shape \(3, 2\)"):
        interlock.ones(2).pow_(interlock.ones(3, 2))
    with interlock.inference_mode():
        x = interlock.ones(2)
    with pytest.raises(RuntimeError, match="inference tensor cannot be changed in place"):
        x.exp_()


PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "add": lambda x, out: interlock.add(x, 1, out=out),
    "where": lambda x, out: interlock.where(x > 1, x, 0.0, out=out),
    "clamp": lambda x, out: interlock.clamp(x, 0, 1, out=out),
    "round": lambda x, out: interlock.round(x, out=out),
    "lerp": lambda x, out: interlock.lerp(x, x, 0.5, out=out),
    "matmul": lambda x, out: interlock.matmul(x, x, out=out),
    "mm": lambda x, out: interlock.mm(x, x, out=out),
    "bmm": lambda x, out: interlock.bmm(x.unsqueeze(0), x.unsqueeze(0), out=out),
    "addmm": lambda x, out: interlock.addmm(x, x, x, beta=2, out=out),
}
"""Functions of a square matrix with the argument `out`."""


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", PRODUCTS)
def test_out_receives_the_result(name: str) -> None:
    x = tensor([[1.0, 2.5], [3.0, -4.0]])
    expected = PRODUCTS[name](x, None)
    for out in (interlock.zeros_like(expected), interlock.empty(0)):
        assert PRODUCTS[name](x, out) is out
        assert (out.tolist(), out.shape, out._version) == (expected.tolist(), expected.shape, 1)
    wide = interlock.zeros(expected.shape, dtype=float64)
    if name in ("where", "clamp", "matmul", "mm", "bmm", "addmm"):
        with pytest.raises(
            DTypeError, match=f"^{name}: out must be float32, the dtype of the result, got float64$"
        ):
            PRODUCTS[name](x, wide)
        return
    assert PRODUCTS[name](x, wide).tolist() == expected.tolist()
    assert wide.dtype == float64


def test_out_of_another_dtype_or_device_is_refused(devices: tuple[str, ...]) -> None:
    x = tensor([1.0, 4.0])
    with pytest.raises(DTypeError, match="sqrt: the result must be castable to int64"):
        interlock.sqrt(x, out=tensor([0, 0]))
    with pytest.raises(RuntimeError, match="sqrt: tensors must be on one device"):
        interlock.sqrt(x, out=interlock.zeros(2, device=devices[0]))
    with pytest.raises(TypeError, match="sqrt: out must be a Tensor or None, got int"):
        interlock.sqrt(x, out=3)  # type: ignore[arg-type]


def test_out_is_refused_while_gradients_are_recorded() -> None:
    x, out = tensor([1.0, 4.0], requires_grad=True), interlock.zeros(2)
    with pytest.raises(RuntimeError, match="sqrt: out must not be passed if a tensor requires grad"):
        interlock.sqrt(x, out=out)
    with pytest.raises(RuntimeError, match="sqrt: out must not be passed"):
        interlock.sqrt(out, out=x)
    assert (out.tolist(), out._version) == ([0.0, 0.0], 0)
    with interlock.no_grad():
        assert interlock.sqrt(x, out=out).tolist() == [1.0, 2.0]


def test_out_may_be_an_input_but_not_overlap_one() -> None:
    x = tensor([1.0, 4.0, 9.0])
    assert interlock.sqrt(x, out=x) is x
    assert x.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"^sqrt: out must not share memory with an input"):
        interlock.sqrt(x[:2], out=x[1:])
    with pytest.raises(RuntimeError, match="several elements of the target share one memory location"):
        interlock.sqrt(x, out=interlock.zeros(1).expand(3))
    assert x.tolist() == [1.0, 2.0, 3.0]


MAY_OVERLAP: dict[str, Callable[..., Tensor]] = {
    "sum": lambda x, out: interlock.sum(x, 0, out=out[0]),
    "sum keepdim": lambda x, out: interlock.sum(x, 0, True, out=out[1:2]),
    "nansum": lambda x, out: interlock.nansum(x, 0, out=out[1]),
    "mean": lambda x, out: interlock.mean(x, 0, out=out[0]),
    "prod": lambda x, out: interlock.prod(x, 0, out=out[0]),
    "amax": lambda x, out: interlock.amax(x, 0, out=out[2]),
    "amin": lambda x, out: interlock.amin(x, 1, out=out[:, 1]),
    "var": lambda x, out: interlock.var(x, 0, out=out[0]),
    "std": lambda x, out: interlock.std(x, 0, out=out[0]),
    "norm": lambda x, out: interlock.norm(x, dim=0, out=out[0]),
    "logsumexp": lambda x, out: interlock.logsumexp(x, 0, out=out[0]),
    "all": lambda x, out: interlock.all(x > 1, 0, out=(out > 1)[0]),
    "any": lambda x, out: interlock.any(x > 1, 0, out=(out > 1)[0]),
    "argmax": lambda x, out: interlock.argmax(x.long(), 0, out=out.long()[0]),
    "argmin": lambda x, out: interlock.argmin(x.long(), 0, out=out.long()[0]),
    "softmax": lambda x, out: interlock.softmax(x[:2], 0, out=out[1:]),
    "log_softmax": lambda x, out: interlock.log_softmax(x[:2], 0, out=out[1:]),
    "tril": lambda x, out: interlock.tril(x, out=out.t()),
    "triu": lambda x, out: interlock.triu(x[:2], out=out[1:]),
    "mm": lambda x, out: interlock.mm(x[:2], x, out=out[1:]),
    "matmul": lambda x, out: interlock.matmul(x[:2], x, out=out[1:]),
    "bmm": lambda x, out: interlock.bmm(x[None, :2], x[None], out=out[None, 1:]),
    "mv": lambda x, out: interlock.mv(x, x[0], out=out[1]),
    "dot": lambda x, out: interlock.dot(x[0], x[1], out=out[0, 0]),
    "addmm": lambda x, out: interlock.addmm(x[:2], x[:2], x, out=out[1:]),
    "addmv": lambda x, out: interlock.addmv(x[0], x, x[1], out=out[2]),
    "baddbmm": lambda x, out: interlock.baddbmm(x[None, :2], x[None, :2], x[None], out=out[None, 1:]),
}


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", MAY_OVERLAP)
def test_out_of_a_reduction_or_product_may_be_a_part_of_an_input(name: str) -> None:
    elements = [[1.0, 4.0, 9.0], [2.0, 0.5, 3.0], [7.0, 8.0, 6.0]]
    x = tensor(elements)
    expected = MAY_OVERLAP[name](tensor(elements), tensor(elements)).tolist()
    assert MAY_OVERLAP[name](x, x).tolist() == expected


def test_out_may_not_be_a_part_of_an_input_of_other_functions() -> None:
    x, index = tensor([1.0, 4.0, 9.0]), tensor([1, 0])
    calls: list[Callable[[], Tensor]] = [
        lambda: interlock.add(x[:2], 1, out=x[1:]),
        lambda: interlock.cumsum(x[:2], 0, out=x[1:]),
        lambda: interlock.gather(x[:2], 0, index, out=x[1:]),
        lambda: interlock.index_select(x[:2], 0, index, out=x[1:]),
        lambda: interlock.cat([x[:1], x[1:2]], out=x[1:]),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="out must not share memory with an input"):
            call()
    assert x.tolist() == [1.0, 4.0, 9.0]


def test_out_of_numbers_as_limits_has_the_dtype_of_the_result() -> None:
    x, double = tensor([1.0, 4.0]), interlock.zeros(2, dtype=interlock.float64)
    for call in (
        lambda: interlock.clamp(x, 0, 2, out=double),
        lambda: interlock.clamp(x, max=2, out=double),
        lambda: interlock.clamp_min(x, 2, out=double),
        lambda: interlock.clamp_max(x, 2, out=double),
    ):
        with pytest.raises(DTypeError, match="out must be float32, the dtype of the result, got float64"):
            call()
    assert interlock.clamp(x, tensor(0.0), 2, out=double).tolist() == [1.0, 2.0]
    assert interlock.clamp_max(x, tensor([1.0, 2.0]), out=double).tolist() == [1.0, 2.0]


def test_out_of_logsumexp_may_have_another_floating_point_dtype() -> None:
    x = interlock.zeros(1, 2)
    for dtype in (interlock.float64, interlock.float16):
        assert interlock.logsumexp(x, 0, out=interlock.ones(2, dtype=dtype)).tolist() == [0.0, 0.0]
    with pytest.raises(DTypeError, match=r"^logsumexp: the result must be castable to int64"):
        interlock.logsumexp(x, 0, out=interlock.ones(2, dtype=interlock.int64))


def test_out_is_no_inference_tensor_outside_of_inference_mode() -> None:
    with interlock.inference_mode():
        out = interlock.zeros(2)
        interlock.exp(interlock.zeros(2), out=out)
    for call in (
        lambda: interlock.exp(interlock.ones(2), out=out),
        lambda: interlock.sum(interlock.ones(2, 2), 0, out=out),
    ):
        with pytest.raises(ArgumentError, match=r"^(exp|sum): out must not be an inference tensor outside"):
            call()
    assert out.tolist() == [1.0, 1.0]


def test_out_that_was_saved_for_backward_is_found_changed() -> None:
    x, weight = tensor([3.0], requires_grad=True), tensor([2.0])
    y = x * weight
    interlock.exp(weight, out=weight)
    with pytest.raises(RuntimeError, match="was changed in place"):
        y.backward()


def test_out_without_elements_keeps_no_memory_of_the_result() -> None:
    x = tensor([1.0, 2.0])
    out = interlock.empty(0)
    interlock.clamp(x, min=0, out=out)
    out.zero_()
    assert x.tolist() == [1.0, 2.0]
    assert out.numpy().tolist() == [0.0, 0.0]
    with interlock.inference_mode():
        fresh = interlock.ones(2)
        interlock.exp(fresh, out=out)
        late = interlock.empty(0)
        interlock.exp(fresh, out=late)
    assert not out.is_inference()
    assert late.is_inference()
    normal = interlock.empty(0)
    with interlock.inference_mode():
        interlock.exp(x, out=normal)
    assert not normal.is_inference()
    assert normal._version == 1


def test_captured_elementwise_operations_are_replayed(devices: tuple[str, ...]) -> None:
    x, out = interlock.ones(2, device=devices[0]), interlock.zeros(2, device=devices[0])
    with interlock.Stream(devices[0]):
        graph = accelerator.Graph()
        with graph:
            interlock.where(x > 2, interlock.maximum(x, x), -x, out=out)
        for value, expected in ((4, 4.0), (2, -2.0)):
            x.fill_(value)
            graph.replay()
            assert out.tolist() == [expected, expected]


def test_atanh_is_odd_near_its_poles() -> None:
    x = tensor([0.999999, -0.999999], dtype=interlock.float64)
    positive, negative = x.atanh().tolist()
    assert positive == -negative == pytest.approx(7.254328619, rel=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        *("exp", "exp2", "expm1", "reciprocal", "rsqrt", "sigmoid", "sqrt", "tan", "tanh"),
        *("acosh", "asinh", "atanh"),
    ],
)
def test_in_place_functions_may_be_followed_by_an_in_place_operation(name: str) -> None:
    leaves = [tensor([0.25, 0.5], requires_grad=True) for _ in range(2)]
    shifted = [leaf + (1 if name == "acosh" else 0) for leaf in leaves]
    getattr(interlock, f"{name}_")(shifted[0]).mul_(2).sum().backward()
    (getattr(interlock, name)(shifted[1]) * 2).sum().backward()
    first, second = (leaf.grad for leaf in leaves)
    assert first is not None
    assert second is not None
    assert first.tolist() == second.tolist()


@pytest.mark.usefixtures("everywhere")
def test_logaddexp_matches_numpy() -> None:
    pairs = np.array([[0.5, 1e3, -1e3, INF, -INF, -INF, NAN], [2.0, 1e3, 5.0, INF, -INF, 1.0, 0.0]])
    x, y = tensor(pairs[0]), tensor(pairs[1])
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp(*pairs)
    for found in (
        interlock.logaddexp(x, y),
        y.logaddexp(x),
        interlock.logaddexp(x, y, out=interlock.zeros_like(x)),
    ):
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-14)
    assert interlock.logaddexp(tensor([1]), tensor([1.0])).dtype is float32
    assert interlock.logaddexp(tensor([1.0], dtype=float16), tensor(1.0)).dtype is float16
    with pytest.raises(DTypeError, match=r"^logaddexp: "):
        interlock.logaddexp(tensor([1]), tensor([2]))
    with pytest.raises(TypeError, match=r"^logaddexp: other must be a Tensor"):
        interlock.logaddexp(x, 2)  # type: ignore[arg-type]


INTEGERS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_match_numpy(name: str) -> None:
    dtype, bits = getattr(interlock, name), INTEGERS[name]
    limits = np.iinfo(name)
    array = np.array([0, 1, 6, limits.min, limits.max], dtype=name)
    x = tensor(array)
    for places in (0, 1, 3, bits - 1):
        wanted = np.array(places, dtype=name)
        for left in (x << places, interlock.bitwise_left_shift(x, tensor(places, dtype=dtype))):
            np.testing.assert_array_equal(left.cpu().numpy(), array << wanted)
        for right in (x >> places, x.bitwise_right_shift(tensor(places, dtype=dtype))):
            np.testing.assert_array_equal(right.cpu().numpy(), array >> wanted)
    for places in (bits, bits + 1, 100, -1):
        if name == "uint8" and places < 0:
            continue
        assert (x << places).tolist() == [0] * 5
        assert (x >> places).tolist() == [-1 if number < 0 else 0 for number in array.tolist()]


@pytest.mark.usefixtures("everywhere")
def test_operators_of_shifts() -> None:
    x = tensor([1, 2])
    y = x.clone()
    y <<= 3
    assert y.tolist() == [8, 16]
    y >>= tensor([1, 2])
    assert (y.tolist(), y._version) == ([4, 4], 2)
    assert x.clone().bitwise_left_shift_(1).tolist() == [2, 4]
    assert ((1 << x).tolist(), (-8 >> x).tolist()) == ([2, 4], [-4, -2])
    assert (tensor([True]) << 1).tolist() == [2]
    assert (tensor([1], dtype=interlock.uint8) << tensor([9])).tolist() == [512]
    if x.device.type == "cpu":
        assert (np.array([1, 2]) << x).tolist() == [2, 8]
    for wrong in (1.0, tensor([1.0])):
        with pytest.raises(
            DTypeError, match=r"^bitwise_left_shift: the promoted dtype must be an integer dtype"
        ):
            x << wrong
    with pytest.raises(DTypeError, match=r"^bitwise_right_shift: "):
        tensor([True]) >> True
