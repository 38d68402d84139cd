"""`conv2d`: values beside a loop, gradients, shapes, errors, and bits that do not depend on threads."""

from __future__ import annotations

import itertools
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, errors
from interlock.autograd import gradcheck, gradgradcheck
from interlock.nn import functional

from tests.unit.tensor.same_bits import assert_same_bits

OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2},
    {"stride": (2, 1), "padding": (1, 2)},
    {"padding": "same"},
    {"padding": "same", "dilation": (2, 1)},
    {"padding": "valid", "dilation": (1, 2)},
    {"stride": [3, 2], "padding": 3, "dilation": 2},
]


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def by_loops(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> np.ndarray:
    """Return the convolution by its definition."""
    (down, across), (wide, high) = pair(stride), pair(dilation)[::-1]
    rows, columns = w.shape[2:]
    if padding == "same":
        total = [high * (rows - 1), wide * (columns - 1)]
        sides = [(one // 2, one - one // 2) for one in total]
    else:
        sides = [(one, one) for one in pair(0 if padding == "valid" else padding)]
    padded = np.pad(x, [(0, 0), (0, 0), *sides])
    height = (padded.shape[2] - high * (rows - 1) - 1) // down + 1
    width = (padded.shape[3] - wide * (columns - 1) - 1) // across + 1
    out = np.empty((len(x), len(w), height, width))
    size, of_group = w.shape[1], len(w) // groups
    for filter_, row, column in itertools.product(range(len(w)), range(height), range(width)):
        first = filter_ // of_group * size
        lines = slice(row * down, row * down + high * (rows - 1) + 1, high)
        places = slice(column * across, column * across + wide * (columns - 1) + 1, wide)
        patch = padded[:, first : first + size, lines, places]
        out[:, filter_, row, column] = (patch * w[filter_]).sum((1, 2, 3)) + b[filter_]
    return out


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_conv2d_computes_its_definition(everywhere: str, groups: int, options: dict[str, Any]) -> None:
    x, w, b = draw(3, 4, 9, 8), draw(4, 4 // groups, 3, 2, seed=1), draw(4)
    operands = [interlock.tensor(array, device=everywhere) for array in (x, w, b)]
    out = interlock.conv2d(operands[0], operands[1], operands[2], groups=groups, **options)
    expected = by_loops(x, w, b, groups=groups, **options)
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-10, atol=1e-12)


def test_conv2d_of_pointwise_filters_and_strided_images(everywhere: str) -> None:
    x, w = draw(2, 6, 5, 4), draw(7, 5, 1, 1)
    strided = interlock.tensor(x, device=everywhere).transpose(1, 2)
    out = interlock.conv2d(strided, interlock.tensor(w, device=everywhere))
    expected = by_loops(x.swapaxes(1, 2), w, np.zeros(7))
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.product
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_passes_gradcheck_twice(groups: int, options: dict[str, Any]) -> None:
    shapes = ((1, 2, 6, 5), (2, 2 // groups, 3, 2), (2,))
    operands = [interlock.tensor(draw(*shape), requires_grad=True) for shape in shapes]

    def convolve(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return interlock.conv2d(x, w, b, groups=groups, **options)

    assert gradcheck(convolve, operands)
    assert gradgradcheck(convolve, operands)


def test_conv2d_of_one_image_has_no_batch(everywhere: str) -> None:
    x = interlock.ones(3, 5, 6, device=everywhere, requires_grad=True)
    w = interlock.ones(4, 3, 3, 2, device=everywhere)
    out = functional.conv2d(x, w)
    assert out.shape == (4, 3, 5)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (3, 5, 6)
    assert functional.conv2d is interlock.conv2d


def test_conv2d_of_no_images(everywhere: str) -> None:
    x = interlock.ones(0, 3, 5, 6, device=everywhere, requires_grad=True)
    w = interlock.ones(4, 3, 3, 2, device=everywhere, requires_grad=True)
    out = interlock.conv2d(x, w)
    assert out.shape == (0, 4, 3, 5)
    out.sum().backward()
    assert w.grad is not None
    assert w.grad.sum().item() == 0.0


def test_conv2d_of_integers_and_strided_images(everywhere: str) -> None:
    with interlock.device("cpu"):
        x, w = interlock.arange(60).reshape(5, 4, 3).permute(2, 0, 1), interlock.arange(12)
        w = w.reshape(1, 3, 2, 2)
    out = interlock.conv2d(x.to(everywhere), w.to(everywhere), stride=2)
    expected = by_loops(x.double().numpy()[None], w.double().numpy(), np.zeros(1), stride=2)
    assert out.dtype == interlock.int64
    assert out.tolist() == expected[0].astype(int).tolist()


def test_conv2d_names_its_nodes() -> None:
    x, w = interlock.ones(1, 1, 3, 3, requires_grad=True), interlock.ones(1, 1, 2, 2, requires_grad=True)
    out = interlock.conv2d(x, w)
    assert out.grad_fn is not None
    assert out.grad_fn.name() == "ConvolutionBackward0"
    (gradient,) = interlock.autograd.grad(out.sum(), x, create_graph=True)
    assert gradient.grad_fn is not None
    assert gradient.grad_fn.name() == "ConvolutionBackwardBackward0"


X, W = interlock.ones(2, 4, 5, 6), interlock.ones(4, 4, 3, 2)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"stride": 0}, errors.ArgumentError, "conv2d: stride must be positive, got (0, 0)"),
        (
            {"stride": (1, 1, 1)},
            errors.ArgumentError,
            "stride must be an int or 2 ints (rows, columns), got 3 ints",
        ),
        (
            {"stride": 1.5},
            TypeError,
            "conv2d: stride must be an int, a tuple of ints or a list of ints, got float",
        ),
        (
            {"stride": True},
            TypeError,
            "conv2d: stride must be an int, a tuple of ints or a list of ints, got bool",
        ),
        ({"dilation": 0}, errors.ArgumentError, "conv2d: dilation must be positive"),
        ({"dilation": 3}, errors.ShapeError, "no larger than the padded input"),
        ({"padding": -1}, errors.ArgumentError, "conv2d: padding must not be negative"),
        ({"padding": (2**63 - 1, 0)}, errors.ArgumentError, "padding must be at most"),
        ({"padding": (2**60, 2**60)}, errors.ShapeError, "more elements"),
        ({"padding": "full"}, errors.ArgumentError, "must be ints, 'same' or 'valid', got 'full'"),
        ({"padding": "same", "stride": 2}, errors.ArgumentError, "or 'valid' if stride is not 1"),
        ({"groups": 0}, errors.ArgumentError, "conv2d: groups must be positive, got 0"),
        ({"groups": 3}, errors.ShapeError, "filters that groups (3) divides"),
        ({"groups": 2}, errors.ShapeError, "4 * 2 channels, the second size of weight times groups, got 4"),
        ({"bias": interlock.ones(3)}, errors.ShapeError, "bias must have shape (4,)"),
        ({"bias": interlock.ones(4).double()}, errors.DTypeError, "conv2d: dtypes must match"),
        ({"bias": 1}, TypeError, "conv2d: bias must be a Tensor or None, got int"),
    ],
)
def test_conv2d_reports_options_that_do_not_fit(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as raised:
        interlock.conv2d(X, W, **options)
    assert text in str(raised.value)


def test_conv2d_reports_tensors_that_do_not_fit(devices: tuple[str, ...]) -> None:
    with pytest.raises(errors.ShapeError, match="input must have 4 dimensions"):
        interlock.conv2d(X[0, 0], W)
    with pytest.raises(errors.ShapeError, match="weight must have 4 dimensions"):
        interlock.conv2d(X, W[0])
    with pytest.raises(errors.ShapeError, match="rows and columns"):
        interlock.conv2d(X[:, :, :0], W)
    with pytest.raises(errors.DTypeError, match="numeric"):
        interlock.conv2d(X.bool(), W.bool())
    with pytest.raises(errors.DTypeError, match="dtypes must match"):
        interlock.conv2d(X, W.double())
    with pytest.raises(RuntimeError, match="one device"):
        interlock.conv2d(X, W.to(devices[0]))


@pytest.mark.usefixtures("num_threads_restored")
@pytest.mark.parametrize("images", [1, 9])
def test_bits_do_not_depend_on_the_number_of_threads(images: int) -> None:
    x = interlock.tensor(draw(images, 64, 72, 40), dtype=interlock.float32, requires_grad=True)
    w = interlock.tensor(draw(72, 64, 3, 3), dtype=interlock.float32, requires_grad=True)

    def gradients() -> Tensor:
        out = interlock.conv2d(x, w, padding=1)
        parts = (out.detach(), *interlock.autograd.grad((out * out).sum(), (x, w)))
        return interlock.cat([part.flatten() for part in parts])

    assert_same_bits(gradients, images)


def test_large_blocks_agree_with_loops() -> None:
    x = interlock.tensor(draw(1, 64, 36, 40), requires_grad=True)
    w = interlock.tensor(draw(72, 64, 3, 3), requires_grad=True)
    out = interlock.conv2d(x, w, stride=(1, 1))
    expected = by_loops(x.detach().numpy(), w.detach().numpy(), np.zeros(72))
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-9, atol=1e-10)
    (gradient,) = interlock.autograd.grad(out.sum(), x)
    ones = np.pad(np.ones((1, 72, 34, 38)), [(0, 0), (0, 0), (2, 2), (2, 2)])
    flipped = w.detach().numpy()[:, :, ::-1, ::-1].swapaxes(0, 1)
    expected = by_loops(ones, flipped, np.zeros(64))
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-9, atol=1e-10)


def test_conv2d_without_channels_is_the_bias() -> None:
    image, weight, bias = interlock.ones(1, 0, 3, 3), interlock.ones(2, 0, 3, 3), interlock.tensor([1.0, 2.0])
    assert interlock.conv2d(image, weight).tolist() == [[[[0.0]], [[0.0]]]]
    assert interlock.conv2d(image, weight, bias).tolist() == [[[[1.0]], [[2.0]]]]
