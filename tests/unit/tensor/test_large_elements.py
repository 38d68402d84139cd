"""Functions whose parts overflow, or lose what is added to them, although the value is an ordinary number."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf
from typing import Literal

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator
from interlock.autograd import grad, gradcheck, gradgradcheck
from interlock.nn import functional
from interlock.nn.attention import SDPBackend, sdpa_kernel

f16, bf16, f32, f64 = interlock.float16, interlock.bfloat16, interlock.float32, interlock.float64
FLOATS = [f16, bf16, f32, f64]
LOWEST = {f16: -65504.0, bf16: -3.3895e38, f32: -3.4028234663852886e38, f64: -1.7976931348623157e308}
TOLERANCE = {f16: 2e-3, bf16: 2e-2, f32: 2e-6, f64: 1e-12}

everywhere = pytest.mark.usefixtures("everywhere")


def near(found: Tensor, expected: object, dtype: interlock.dtype) -> None:
    np.testing.assert_allclose(
        found.detach().to(f64).cpu().numpy(),
        np.asarray(expected, dtype=float),
        rtol=TOLERANCE[dtype],
        atol=TOLERANCE[dtype],
    )


def leaf(*values: float, dtype: interlock.dtype = f64) -> Tensor:
    return interlock.tensor(values, dtype=f64).to(dtype).requires_grad_()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def softplus(x: float, beta: float) -> float:
    scaled = beta * x
    return (x if scaled > 0 else 0) + math.log1p(math.exp(-abs(scaled))) / beta


@everywhere
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("beta", [1.0, 0.25, -1.0, 1e30, -1e30, 1e60, 1e-3])
def test_softplus_with_a_large_threshold_is_exact(beta: float, dtype: interlock.dtype) -> None:
    x = leaf(0.0, 0.5, -1.0, 2.0, 20.0, 100.0, -100.0, 1e4, -1e4, dtype=dtype)
    out = functional.softplus(x, beta=beta, threshold=1e300)
    near(out, [softplus(value, beta) for value in x.tolist()], dtype)
    (first,) = grad(out.sum(), x, create_graph=True)
    logistic = [sigmoid(max(min(beta * value, 1e3), -1e3)) for value in x.tolist()]
    near(first, logistic, dtype)
    (second,) = grad(first.sum(), x)
    expected = np.array([beta * each * (1 - each) for each in logistic])
    # The curvature at 0 exceeds the range of some dtypes.
    representable = np.abs(expected) < 1e3
    near(second[interlock.tensor(representable)], expected[representable], dtype)


@everywhere
def test_softplus_of_infinities_and_below_the_threshold() -> None:
    assert functional.softplus(interlock.tensor([inf, -inf]), threshold=1e9).tolist() == [inf, 0.0]
    assert functional.softplus(interlock.tensor([0.5, 3.0]), beta=2, threshold=1).tolist()[1] == 3.0
    x = leaf(-2.0, 0.5, 3.0, -0.25)
    for beta in (1.0, 2.5, -0.5):
        assert gradcheck(lambda x, beta=beta: functional.softplus(x, beta=beta, threshold=50), (x,))
        assert gradgradcheck(lambda x, beta=beta: functional.softplus(x, beta=beta, threshold=50), (x,))


@everywhere
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_has_finite_derivatives_everywhere(
    approximate: Literal["none", "tanh"], dtype: interlock.dtype
) -> None:
    large = 1e30 if dtype is f32 else 1e200
    x = leaf(large, -large, 1e5, -1e5, 50.0, -50.0, dtype=dtype)
    out = functional.gelu(x, approximate=approximate)
    np.testing.assert_allclose(out.tolist(), [large, 0, 1e5, 0, 50, 0], rtol=1e-6)
    (first,) = grad(out.sum(), x, create_graph=True)
    near(first, [1, 0, 1, 0, 1, 0], dtype)
    near(grad(first.sum(), x)[0], [0] * 6, dtype)


# Functions with their values and gradients, some of whose parts overflow in float32.
FINITE: dict[str, tuple[Callable[[Tensor], Tensor], list[float], list[float], list[float]]] = {
    "logsigmoid": (functional.logsigmoid, [1e4, -1e4, 1e30], [0, -1e4, 0], [0, 1, 0]),
    "silu": (functional.silu, [1e4, -1e4, 1e30, -1e30], [1e4, 0, 1e30, 0], [1, 0, 1, 0]),
    "sigmoid": (interlock.sigmoid, [1e4, -1e4, 1e30, -1e30], [1, 0, 1, 0], [0] * 4),
    "tanh": (interlock.tanh, [1e4, -1e4, 1e30, -1e30], [1, -1, 1, -1], [0] * 4),
    "log_softmax": (
        lambda x: functional.log_softmax(x, 0)[:2],
        [1e9, 1e9, -1e9],
        [-math.log(2)] * 2,
        [0, 0, 0],
    ),
    "softmax": (lambda x: functional.softmax(x, 0), [1e30, 1e30, -1e30], [0.5, 0.5, 0], [0, 0, 0]),
    "logsumexp": (lambda x: x.logsumexp(0), [1e9, 1e9, -1e9], [1e9], [0.5, 0.5, 0]),
    "logaddexp": (lambda x: interlock.logaddexp(x, x), [1e9, -1e9], [1e9, -1e9], [1, 1]),
    "logsumexp with an infinity": (lambda x: x.logsumexp(0), [-inf, 1e9, 1e9], [1e9], [0, 0.5, 0.5]),
    "cross_entropy": (
        lambda x: functional.cross_entropy(x, interlock.tensor(0)),
        [1e9, 1e9, 1e9, 1e9],
        [math.log(4)],
        [-0.75, 0.25, 0.25, 0.25],
    ),
    "binary_cross_entropy_with_logits": (
        lambda x: functional.binary_cross_entropy_with_logits(
            x, interlock.tensor([1.0, 0.0, 1.0, 0.0]), reduction="sum"
        ),
        [1e4, -1e4, -1e4, 1e4],
        [2e4],
        [0, 0, -1, 1],
    ),
    "asinh": (interlock.asinh, [1e30, -1e30], [math.asinh(1e30), -math.asinh(1e30)], [1e-30, 1e-30]),
    "acosh": (interlock.acosh, [1e30, 2.0], [math.acosh(1e30), math.acosh(2)], [1e-30, 1 / math.sqrt(3)]),
    "mean": (lambda x: x.mean(), [3e38, 3e38], [3e38], [0.5, 0.5]),
    "hypot": (lambda x: interlock.hypot(x, x * 0 + 3e30), [4e30, -4e30], [5e30] * 2, [0.8, -0.8]),
}


@everywhere
@pytest.mark.parametrize("case", FINITE.values(), ids=FINITE)
def test_functions_of_large_elements_are_finite(
    case: tuple[Callable[[Tensor], Tensor], list[float], list[float], list[float]],
) -> None:
    function, values, expected, slopes = case
    x = leaf(*values, dtype=f32)
    out = function(x)
    np.testing.assert_allclose(out.reshape(-1).tolist(), expected, rtol=1e-6, atol=1e-6)
    (first,) = grad(out.sum(), x, create_graph=True)
    np.testing.assert_allclose(first.tolist(), slopes, rtol=1e-6, atol=1e-6)
    if first.requires_grad and -inf not in values:
        assert bool(interlock.isfinite(grad(first.sum(), x)[0]).all().item())


@everywhere
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [(1,), (0,), (0, 1)])
def test_logsumexp_gives_shares_that_add_up_to_1(
    dims: tuple[int, ...], keepdim: bool, dtype: interlock.dtype
) -> None:
    large = 3e4 if dtype is f16 else 1e9
    x = interlock.full((2, 4), large, dtype=dtype).requires_grad_()
    (found,) = grad(x.logsumexp(dims, keepdim).sum(), x)
    groups = {(1,): 4, (0,): 2, (0, 1): 8}[dims]
    near(found, np.full((2, 4), 1 / groups), dtype)


@everywhere
def test_logsumexp_of_infinities_has_the_gradients_of_pytorch() -> None:
    x = interlock.tensor([[inf, 1000.0, -inf], [-inf, -inf, -inf]], requires_grad=True)
    out = x.logsumexp(1)
    assert out.tolist() == [inf, -inf]
    np.testing.assert_array_equal(grad(out.sum(), x)[0].tolist(), [[math.nan, 0, 0], [math.nan] * 3])
    y = leaf(0.5, 1.5, 2.0, 0.25).reshape(2, 2)
    assert gradgradcheck(lambda y: y.logsumexp((0,)), (y.detach().requires_grad_(),))


@everywhere
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(bf16, 120), (bf16, -120), (f32, 120), (f32, -120), (f64, 1000), (f64, -1000)],
    ids=str,
)
@pytest.mark.parametrize("order", [2, 3, 0.5, 1, inf])
def test_norm_of_elements_whose_powers_are_out_of_range(
    order: float, dtype: interlock.dtype, exponent: int
) -> None:
    unit = math.ldexp(1, exponent)
    x = (interlock.tensor([[0.75, -1.0], [0.0, 0.5]], dtype=f64) * unit).to(dtype).requires_grad_()
    plain = (x.detach().to(f64) / unit).requires_grad_()
    for dim in (None, 1):
        out, expected = (each.norm(order, dim) for each in (x, plain))
        near(out.detach().to(f64) / unit, expected.tolist(), dtype)
        slopes, expected_slopes = (
            interlock.autograd.grad(norm.sum(), each)[0] for norm, each in ((out, x), (expected, plain))
        )
        near(slopes, expected_slopes.tolist(), dtype)


@everywhere
def test_norm_of_zeros_infinity_and_nan() -> None:
    rows = interlock.tensor([[0.0, 0.0], [inf, 1.0], [math.nan, 1.0], [5e-324, 0.0]], dtype=f64)
    np.testing.assert_array_equal(rows.norm(dim=1).tolist(), [0, inf, math.nan, 5e-324])
    assert interlock.empty(0).norm().item() == 0.0
    assert interlock.tensor(-3e38).norm().item() == pytest.approx(3e38, rel=1e-6)


BACKENDS = [
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
]


def attention_backends(dtype: interlock.dtype, on_device: bool) -> list[SDPBackend]:
    """Return the backends that run an attention with a mask."""
    if not on_device:
        return BACKENDS[:2]
    return [
        BACKENDS[0],
        *([BACKENDS[2]] if dtype is not f64 else []),
        *([BACKENDS[3]] if dtype in {f16, bf16} else []),
    ]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("masked", ["-1e9", "lowest", "-1e4", "0"])
@pytest.mark.parametrize("keys", [3, 300])
def test_attention_gradient_where_all_scores_are_large(
    keys: int, masked: str, dtype: interlock.dtype, everywhere: str
) -> None:
    number = {"-1e9": -1e9, "lowest": LOWEST[dtype], "-1e4": -1e4, "0": 0.0}[masked]
    if not math.isfinite(interlock.tensor(number, dtype=f64).to(dtype).item()):
        number = -6e4
    for backend in attention_backends(dtype, everywhere != "cpu"):
        query = interlock.ones(1, 2, 5, 8, dtype=dtype, requires_grad=True)
        key = interlock.ones(1, 2, keys, 8, dtype=dtype, requires_grad=True)
        value = interlock.rand(1, 2, keys, 8).to(dtype).requires_grad_()
        mask = interlock.full((5, keys), number, dtype=dtype)
        with sdpa_kernel(backend):
            out = functional.scaled_dot_product_attention(query, key, value, mask)
        near(
            out,
            np.broadcast_to(value.detach().to(f64).mean(2, keepdim=True).cpu().numpy(), (1, 2, 5, 8)),
            dtype,
        )
        found = grad(out.sum(), [query, key, value])
        near(found[2], np.full((1, 2, keys, 8), 5 / keys), dtype)
        assert all(bool(interlock.isfinite(each).all().item()) for each in found)


@everywhere
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_gradient_of_large_queries_and_keys(is_causal: bool) -> None:
    """Every score is 1e10 * sqrt(8), so that each row sees its keys equally."""
    for backend in BACKENDS[:2] if interlock.get_default_device().type == "cpu" else BACKENDS[:1]:
        query, key = (interlock.full((1, 1, 4, 8), 1e5, dtype=f32, requires_grad=True) for _ in range(2))
        value = interlock.ones(1, 1, 4, 8, requires_grad=True)
        with sdpa_kernel(backend):
            out = functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        (found,) = grad(out.sum(), value)
        shares = (
            [sum(1 / (row + 1) for row in range(column, 4)) for column in range(4)]
            if is_causal
            else [1.0] * 4
        )
        near(found[0, 0], np.repeat(np.array(shares)[:, None], 8, 1), f32)


def test_attention_gradient_in_a_graph(devices: tuple[str, ...]) -> None:
    with interlock.device(devices[0]):
        query, key, value = (interlock.ones(1, 1, 3, 8, requires_grad=True) for _ in range(3))
        mask = interlock.zeros(3, 3)
        stream, graph = accelerator.Stream(devices[0]), accelerator.Graph()
        accelerator.synchronize(devices[0])
        with stream, sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            with graph:
                out = functional.scaled_dot_product_attention(query, key, value, mask)
                (found,) = grad(out.sum(), value)
            for number in (0.0, -1e9):
                mask.fill_(number)
                graph.replay()
                near(found[0, 0], np.ones((3, 8)), f32)


@everywhere
def test_inverse_hyperbolic_functions_of_numbers_whose_double_overflows() -> None:
    values = [1e300, 8.9e307, 1e308, 1.7e308]
    expected = [math.log(value) + math.log(2) for value in values]
    x = leaf(*values)
    near(x.acosh(), expected, f64)
    near(x.asinh(), expected, f64)
    near((-x).asinh(), [-value for value in expected], f64)
    near(x.detach().clone().asinh_(), expected, f64)
    near(interlock.tensor([inf, -inf], dtype=f64).asinh(), [inf, -inf], f64)
