"""Activations, layer normalization and dropout of `nn.functional`. Numbers are those of PyTorch 2.13."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, bfloat16, errors, float16, float32, float64, int64
from interlock.nn import functional

X = [[-2.0, -0.5, 0.25], [1.0, 3.0, -4.0]]
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], list[list[float]]]] = {
    "gelu": (
        functional.gelu,
        [
            [-0.0455002638964, -0.154268769363, 0.149676581421],
            [0.841344746069, 2.99595030591, -0.000126684967332],
        ],
    ),
    "tanh gelu": (
        lambda x: functional.gelu(x, approximate="tanh"),
        [
            [-0.0454023059122, -0.154285990175, 0.149675350702],
            [0.841191990608, 2.99636260792, -7.02459481923e-05],
        ],
    ),
    "silu": (
        functional.silu,
        [
            [-0.238405844044, -0.188770334399, 0.140544125221],
            [0.73105857863, 2.85772238047, -0.0719448398484],
        ],
    ),
    "elu": (functional.elu, [[-0.864664716763, -0.393469340287, 0.25], [1.0, 3.0, -0.981684361111]]),
    "elu with a factor": (
        lambda x: functional.elu(x, -2.0),
        [[1.72932943353, 0.786938680575, 0.25], [1.0, 3.0, 1.96336872222]],
    ),
    "leaky relu": (functional.leaky_relu, [[-0.02, -0.005, 0.25], [1.0, 3.0, -0.04]]),
    "softplus": (
        functional.softplus,
        [[0.126928011043, 0.47407698418, 0.825939419879], [1.31326168752, 3.04858735157, 0.0181499279178]],
    ),
    "softplus with a threshold": (
        lambda x: functional.softplus(x, 2, 3),
        [[0.0090749639589, 0.156630843759, 0.48703849209], [1.06346400552, 3.0, 0.000167703186448]],
    ),
    "logsigmoid": (
        functional.logsigmoid,
        [
            [-2.12692801104, -0.97407698418, -0.575939419879],
            [-0.313261687518, -0.0485873515737, -4.01814992792],
        ],
    ),
}


@pytest.fixture
def device(host_accessible_memory: None, devices: tuple[str, ...]) -> str:
    """Return a device on which operations run."""
    return devices[0]


def numbers(dtype: interlock.dtype = float64, device: str = "cpu") -> Tensor:
    return interlock.tensor(X, dtype=dtype, device=device)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_has_the_values_of_pytorch(name: str) -> None:
    function, expected = ACTIVATIONS[name]
    np.testing.assert_allclose(function(numbers()).numpy(), expected, rtol=1e-11)
    found = function(numbers(float32))
    assert found.dtype is float32
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [float16, bfloat16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_of_halves_is_rounded_once(name: str, dtype: interlock.dtype) -> None:
    function, _ = ACTIVATIONS[name]
    halves = numbers(dtype).requires_grad_()
    exact = numbers(float32).requires_grad_()
    found, expected = function(halves), function(exact)
    assert found.dtype is dtype
    assert found.tolist() == expected.to(dtype).tolist()
    found.sum().backward()
    expected.sum().backward()
    assert halves.grad is not None
    assert exact.grad is not None
    assert halves.grad.tolist() == exact.grad.to(dtype).tolist()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_on_a_device_has_the_bits_of_the_cpu(name: str, device: str) -> None:
    function, _ = ACTIVATIONS[name]
    results = []
    for place in ("cpu", device):
        x = numbers(float32, place).requires_grad_()
        y = function(x)
        y.sum().backward()
        assert str(y.device) == place
        assert x.grad is not None
        results.append((y.tolist(), x.grad.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "name", ["gelu", "silu", "elu", "leaky_relu", "softplus", "logsigmoid", "dropout", "layer_norm"]
)
def test_integers_are_refused(name: str) -> None:
    arguments = ((2,),) if name == "layer_norm" else ()
    with pytest.raises(
        errors.DTypeError, match=f"^{name}: input must be floating point, got int64; float\\(\\) converts it$"
    ):
        getattr(functional, name)(interlock.tensor([1, 2]), *arguments)


def test_activations_of_special_numbers() -> None:
    x = interlock.tensor([math.inf, -math.inf, math.nan, 100.0, -1000.0])
    found = {name: function(x).tolist() for name, (function, _) in ACTIVATIONS.items()}
    for name in ("gelu", "tanh gelu", "silu"):
        assert found[name][0] == math.inf
        assert math.isnan(found[name][1])
        assert math.isnan(found[name][2])
        assert found[name][3:] == [100.0, 0.0]
    assert found["softplus"][:2] == [math.inf, 0.0]
    assert found["softplus"][3:] == [100.0, 0.0]
    assert found["logsigmoid"][:2] == [0.0, -math.inf]
    assert found["logsigmoid"][4] == -1000.0
    assert found["elu"][:2] == [math.inf, -1.0]
    assert found["elu"][3:] == [100.0, -1.0]
    assert found["leaky relu"][:2] == [math.inf, -math.inf]
    assert found["leaky relu"][3:] == [100.0, -10.0]
    for name in ("elu", "leaky relu"):
        assert math.isnan(found[name][2])


@pytest.mark.parametrize("name", ["elu", "leaky_relu"])
def test_activations_in_place_return_the_input(name: str) -> None:
    function = getattr(functional, name)
    x = numbers().requires_grad_()
    y = x * 1
    # Unlike in PyTorch the factor may be negative.
    z = function(y, -0.5, True)
    assert z is y
    assert z.tolist() == function(numbers(), -0.5).tolist()
    z.sum().backward()
    other = numbers().requires_grad_()
    function(other, -0.5).sum().backward()
    assert x.grad is not None
    assert other.grad is not None
    assert x.grad.tolist() == other.grad.tolist()
    with pytest.raises(RuntimeError):
        function(x, 1.0, True)


untyped: Any = functional


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: untyped.gelu(x, approximate="erf"),
            errors.ArgumentError,
            "gelu: approximate must be 'none' or 'tanh', got 'erf'",
        ),
        (lambda x: untyped.gelu(x, approximate=1), TypeError, "gelu: approximate must be a str, got int"),
        (lambda x: untyped.softplus(x, "1"), TypeError, "softplus: beta must be a float, got str"),
        (lambda x: untyped.silu([1.0]), TypeError, "silu: input must be a Tensor, got list"),
        (lambda x: untyped.silu(x, inplace=1), TypeError, "silu: inplace must be a bool, got int"),
        (lambda x: untyped.relu(x, inplace=1), TypeError, "relu: inplace must be a bool, got int"),
        (
            lambda x: functional.relu_(x > 0),
            errors.DTypeError,
            "relu_: input must be numeric, got bool; long() converts it",
        ),
        (
            lambda x: functional.silu(x.long(), inplace=True),
            errors.DTypeError,
            "silu: input must be floating point, got int64; float() converts it",
        ),
        (lambda x: untyped.dropout(x, 1.5), ValueError, "dropout: p must be from 0 to 1, got 1.5"),
        (lambda x: untyped.dropout(x, math.nan), ValueError, "dropout: p must be from 0 to 1, got nan"),
        (lambda x: untyped.dropout(x, "a"), TypeError, "dropout: p must be a float, got str"),
        (
            lambda x: untyped.dropout(x, 0.5, "yes"),
            TypeError,
            "dropout: training must be a bool, got str",
        ),
        (
            lambda x: untyped.layer_norm(x, 3),
            TypeError,
            "layer_norm: normalized_shape must be a tuple or list of ints, got int",
        ),
        (
            lambda x: untyped.layer_norm(x, ()),
            errors.ShapeError,
            "layer_norm: normalized_shape must be the last sizes of the input shape (2, 3), got ()",
        ),
        (
            lambda x: untyped.layer_norm(x, (2,)),
            errors.ShapeError,
            "layer_norm: normalized_shape must be the last sizes of the input shape (2, 3), got (2,)",
        ),
        (
            lambda x: untyped.layer_norm(x, (3,), interlock.ones(2)),
            errors.ShapeError,
            "layer_norm: weight must be of shape (3,), normalized_shape, got shape (2,)",
        ),
        (
            lambda x: untyped.layer_norm(x, (3,), None, interlock.ones(3)),
            errors.DTypeError,
            "layer_norm: bias must be float64, the dtype of the input, got float32",
        ),
        (
            lambda x: untyped.layer_norm(x, (3,), eps="a"),
            TypeError,
            "layer_norm: eps must be a float, got str",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Any, error: type[Exception], message: str) -> None:
    x = numbers()
    with pytest.raises(error) as raised:
        call(x)
    assert str(raised.value) == message
    assert x.tolist() == X


@pytest.mark.parametrize(
    ("function", "inplace"),
    [
        (functional.relu, lambda x: functional.relu(x, inplace=True)),
        (functional.relu, functional.relu_),
        (functional.relu, interlock.relu_),
        (functional.relu, Tensor.relu_),
        (functional.silu, lambda x: functional.silu(x, inplace=True)),
    ],
)
def test_activations_in_place(
    function: Callable[[Tensor], Tensor], inplace: Callable[[Tensor], Tensor]
) -> None:
    x = numbers()
    version = x._version
    assert inplace(x) is x
    assert x._version == version + 1
    assert x.tolist() == function(numbers()).tolist()
    leaf = numbers().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        inplace(leaf)
    gradients = []
    for apply in (function, inplace):
        y = leaf * 2
        (gradient,) = interlock.autograd.grad((apply(y) ** 2).sum(), leaf, create_graph=True)
        (second,) = interlock.autograd.grad((gradient**2).sum(), leaf)
        gradients.append((gradient.tolist(), second.tolist()))
    assert gradients[0] == gradients[1]


def test_layer_norm_of_many_rows_adds_the_gradients_of_all() -> None:
    x = (interlock.arange(15000, dtype=float64) * 0.618).frac().reshape(5000, 3) * 3

    def gradients(rows: int) -> list[Tensor]:
        leaves = [interlock.tensor([0.5, 1.0, 2.0], dtype=float64, requires_grad=True) for _ in range(2)]
        for part in x.split(rows):
            functional.layer_norm(part, (3,), *leaves).square().sum().backward()
        return [leaf.grad for leaf in leaves if leaf.grad is not None]

    whole, parts = gradients(5000), gradients(500)
    assert len(whole) == len(parts) == 2
    assert all(one.allclose(other, rtol=1e-8) for one, other in zip(whole, parts, strict=True))


def test_layer_norm_has_the_values_of_pytorch() -> None:
    weight = interlock.tensor([0.5, 2.0, 1.0], dtype=float64)
    found = functional.layer_norm(numbers(), (3,), weight, weight - 1)
    np.testing.assert_allclose(
        found.numpy(),
        [[-1.1681492868, 1.53451942944, 1.06903885887], [-0.330158542864, 3.03809748564, -1.35873165709]],
        rtol=1e-11,
    )
    found = functional.layer_norm(numbers(), [2, 3], eps=0.5)
    np.testing.assert_allclose(
        found.numpy(),
        [
            [-0.698547923306, -0.0537344556389, 0.268672278195],
            [0.591079012028, 1.45083030225, -1.55829921353],
        ],
        rtol=1e-11,
    )
    singles = functional.layer_norm(numbers(float32), (3,), weight.float(), (weight - 1).float())
    np.testing.assert_allclose(
        singles.numpy(),
        [[-1.1681492868, 1.53451942944, 1.06903885887], [-0.330158542864, 3.03809748564, -1.35873165709]],
        rtol=1e-6,
    )


def test_layer_norm_of_halves_accepts_parameters_of_float32() -> None:
    weight = interlock.tensor([0.5, 2.0, 1.0])
    for dtype in (float16, bfloat16):
        halves = numbers(dtype)
        expected = functional.layer_norm(halves.float(), (3,), weight).to(dtype)
        assert functional.layer_norm(halves, (3,), weight).tolist() == expected.tolist()
        assert functional.layer_norm(halves, (3,), weight.to(dtype)).tolist() == expected.tolist()


def layer_norm_results(device: str) -> list[Any]:
    rows = interlock.arange(3000 * 7, device=device).reshape(3000, 7)
    x = (rows.float() * 0.618).remainder(3.0).requires_grad_()
    weight = interlock.ones(7, device=device, requires_grad=True)
    bias = interlock.zeros(7, device=device, requires_grad=True)
    y = functional.layer_norm(x, (7,), weight, bias)
    (y * y * x.detach()).sum().backward()
    return [tensor.tolist() for tensor in (y, x.grad, weight.grad, bias.grad) if tensor is not None]


def test_layer_norm_has_equal_bits_on_a_device_and_with_threads(device: str) -> None:
    expected = layer_norm_results("cpu")
    assert len(expected) == 4
    assert layer_norm_results(device) == expected
    threads = interlock.get_num_threads()
    try:
        interlock.set_num_threads(3)
        assert layer_norm_results("cpu") == expected
    finally:
        interlock.set_num_threads(threads)


def test_layer_norm_of_large_tensors_does_not_depend_on_threads() -> None:
    x = interlock.rand(600, 1024).requires_grad_()
    weight = interlock.rand(1024).requires_grad_()
    results = []
    threads = interlock.get_num_threads()
    try:
        for count in (1, 3):
            interlock.set_num_threads(count)
            y = functional.layer_norm(x, (1024,), weight)
            gradients = interlock.autograd.grad((y * y).sum(), (x, weight))
            results.append([tensor.detach().numpy().tobytes() for tensor in (y, *gradients)])
    finally:
        interlock.set_num_threads(threads)
    assert results[0] == results[1]


def test_layer_norm_without_rows_or_recorded_input() -> None:
    assert functional.layer_norm(interlock.ones(0, 3), (3,)).shape == (0, 3)
    empty = interlock.zeros(4, 0, requires_grad=True)
    functional.layer_norm(empty, (0,)).sum().backward()
    assert empty.grad is not None
    assert empty.grad.shape == (4, 0)
    weight = interlock.ones(3, dtype=float64, requires_grad=True)
    functional.layer_norm(numbers(), (3,), weight).sum().backward()
    assert weight.grad is not None
    expected = functional.layer_norm(numbers(), (3,)).sum(0)
    np.testing.assert_allclose(weight.grad.numpy(), expected.numpy(), rtol=1e-12)


def test_dropout_repeats_after_a_seed_on_every_device(device: str) -> None:
    masks = []
    for place in ("cpu", device, "cpu"):
        interlock.manual_seed(11)
        masks.append(functional.dropout(interlock.ones(1000, device=place), 0.3).tolist())
    assert masks[0] == masks[1] == masks[2]
    interlock.manual_seed(12)
    assert functional.dropout(interlock.ones(1000), 0.3).tolist() != masks[0]
    kept = [value for value in masks[0] if value]
    assert len(set(kept)) == 1
    assert kept[0] == pytest.approx(1 / 0.7)
    assert 600 < len(kept) < 800


def test_dropout_has_the_gradient_of_its_mask() -> None:
    x = interlock.ones(100, dtype=float64, requires_grad=True)
    y = functional.dropout(x * 3, 0.5)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == y.tolist()
    assert set(y.tolist()) == {0.0, 6.0}


def test_dropout_that_drops_nothing_returns_the_tensor() -> None:
    x = interlock.ones(3, dtype=int64)
    assert functional.dropout(x, training=False) is x
    assert functional.dropout(x, p=0) is x
    assert functional.dropout(x, p=1).tolist() == [0, 0, 0]
    y = interlock.ones(1000)
    assert functional.dropout(y, inplace=True) is y
    assert set(y.tolist()) == {0.0, 2.0}
    with pytest.raises(RuntimeError, match="leaf"):
        functional.dropout(interlock.ones(3, requires_grad=True), inplace=True)
