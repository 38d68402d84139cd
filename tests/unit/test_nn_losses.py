"""Losses of `nn.functional`. Numbers are those of PyTorch 2.13."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, bfloat16, errors, float16, float32, float64
from interlock.nn import functional

REDUCTIONS = ("none", "sum", "mean")


@pytest.fixture
def device(host_accessible_memory: None, devices: tuple[str, ...]) -> str:
    """Return a device on which operations run."""
    return devices[0]


def double(values: Any, device: str = "cpu") -> Tensor:
    return interlock.tensor(values, dtype=float64, device=device)


LOGITS = [[-2.0, -0.5, 0.25], [1.0, 3.0, -4.0]]
WEIGHT = [0.5, 2.0, 1.0]
PROBABILITIES = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]
BINARY = [[0.0, 1.0, 0.25], [1.0, 0.5, 0.0]]
CLASSES, IGNORED = [2, 0], [2, -1]


def pixels(logits: Tensor) -> Tensor:
    """Return logits of shape [2, 3, 2]."""
    return interlock.stack([logits, logits * 0.5 - 1], -1)


Loss = Callable[[Tensor, Callable[[Any], Tensor], str], Tensor]
LOSSES: dict[str, tuple[Loss, list[Any]]] = {
    "classes": (
        lambda x, to, how: functional.cross_entropy(x, to(CLASSES).long(), reduction=how),
        [[0.456009781307, 2.12773087163], 2.58374065294, 1.29187032647],
    ),
    "weights": (
        lambda x, to, how: functional.cross_entropy(x, to(CLASSES).long(), to(WEIGHT), reduction=how),
        [[0.456009781307, 1.06386543582], 1.51987521712, 1.01325014475],
    ),
    "an ignored index": (
        lambda x, to, how: functional.cross_entropy(
            x, to(IGNORED).long(), to(WEIGHT), ignore_index=-1, reduction=how
        ),
        [[0.456009781307, 0.0], 0.456009781307, 0.456009781307],
    ),
    "smoothed labels": (
        lambda x, to, how: functional.cross_entropy(
            x, to(CLASSES).long(), to(WEIGHT), label_smoothing=0.2, reduction=how
        ),
        [[0.646210107351, 1.41422955204], 2.06043965939, 1.37362643959],
    ),
    "smoothed labels and an ignored index": (
        lambda x, to, how: functional.cross_entropy(
            x, to(IGNORED).long(), to(WEIGHT), ignore_index=-1, label_smoothing=0.2, reduction=how
        ),
        [[0.646210107351, 0.0], 0.646210107351, 0.646210107351],
    ),
    "probabilities": (
        lambda x, to, how: functional.cross_entropy(x, to(PROBABILITIES), reduction=how),
        [[1.13100978131, 2.12773087163], 3.25874065294, 1.62937032647],
    ),
    "smoothed probabilities": (
        lambda x, to, how: functional.cross_entropy(
            x, to(PROBABILITIES), to(WEIGHT), label_smoothing=0.2, reduction=how
        ),
        [[1.25917167236, 1.41422955204], 2.6734012244, 1.3367006122],
    ),
    "pixels": (
        lambda x, to, how: functional.cross_entropy(
            pixels(x), to([[0, 1], [2, 0]]).long(), to(WEIGHT), reduction=how
        ),
        [[[1.35300489065, 2.14820059722], [7.12773087163, 0.667548797758]], 11.2964851573, 2.82412128932],
    ),
    "nll_loss": (
        lambda x, to, how: functional.nll_loss(
            x.log_softmax(1), to(IGNORED).long(), to(WEIGHT), ignore_index=-1, reduction=how
        ),
        [[0.456009781307, 0.0], 0.456009781307, 0.456009781307],
    ),
    "binary": (
        lambda x, to, how: functional.binary_cross_entropy(x.sigmoid(), to(BINARY), reduction=how),
        [
            [
                [0.126928011043, 0.97407698418, 0.763439419879],
                [0.313261687518, 1.54858735157, 0.0181499279178],
            ],
            3.74444338211,
            0.624073897019,
        ],
    ),
    "binary with weights": (
        lambda x, to, how: functional.binary_cross_entropy(
            x.sigmoid(), to(BINARY), to(WEIGHT), reduction=how
        ),
        [
            [
                [0.0634640055215, 1.94815396836, 0.763439419879],
                [0.156630843759, 3.09717470315, 0.0181499279178],
            ],
            6.04701286858,
            1.0078354781,
        ],
    ),
    "binary with logits": (
        lambda x, to, how: functional.binary_cross_entropy_with_logits(
            x, to(BINARY), to(WEIGHT), pos_weight=to([2.0, 1.0, 3.0]), reduction=how
        ),
        [
            [
                [0.0634640055215, 1.94815396836, 1.05140912982],
                [0.313261687518, 3.09717470315, 0.0181499279178],
            ],
            6.49161342228,
            1.08193557038,
        ],
    ),
    "squares": (
        lambda x, to, how: functional.mse_loss(x, to(BINARY), weight=to([WEIGHT, WEIGHT]), reduction=how),
        [[[2.0, 4.5, 0.0], [0.0, 12.5, 16.0]], 35.0, 5.0],
    ),
    "absolute values": (
        lambda x, to, how: functional.l1_loss(x, to(BINARY), reduction=how),
        [[[2.0, 1.5, 0.0], [0.0, 2.5, 4.0]], 10.0, 10.0 / 6],
    ),
    "absolute values with weights": (
        lambda x, to, how: functional.l1_loss(x, to(BINARY), weight=to([WEIGHT, WEIGHT]), reduction=how),
        [[[1.0, 3.0, 0.0], [0.0, 5.0, 4.0]], 13.0, 13.0 / 7],
    ),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_loss_has_the_values_of_pytorch(name: str, reduction: str) -> None:
    function, expected = LOSSES[name]
    found = function(double(LOGITS), double, reduction)
    np.testing.assert_allclose(found.numpy(), expected[REDUCTIONS.index(reduction)], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_loss_passes_gradcheck_twice(name: str, reduction: str) -> None:
    function, _ = LOSSES[name]
    leaf = (double(LOGITS) + 0.125).requires_grad_()
    assert interlock.autograd.gradcheck(lambda x: function(x, double, reduction), leaf)
    assert interlock.autograd.gradgradcheck(lambda x: function(x, double, reduction), leaf)


@pytest.mark.parametrize("name", LOSSES)
def test_loss_on_a_device_has_the_bits_of_the_cpu(name: str, device: str) -> None:
    function, _ = LOSSES[name]
    results = []
    for place in ("cpu", device):
        x = interlock.tensor(LOGITS, device=place, requires_grad=True)
        loss = function(x, partial(interlock.tensor, dtype=float32, device=place), "mean")
        loss.backward()
        assert x.grad is not None
        results.append((loss.item(), x.grad.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [float16, bfloat16])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_of_halves_is_close_to_that_of_float32(name: str, dtype: interlock.dtype) -> None:
    function, _ = LOSSES[name]
    results = []
    for each in (dtype, float32):
        x = interlock.tensor(LOGITS, dtype=each, requires_grad=True)
        loss = function(x, partial(interlock.tensor, dtype=each), "mean")
        loss.backward()
        assert loss.dtype is each
        assert x.grad is not None
        results.append([loss.item(), *x.grad.reshape(-1).tolist()])
    tolerance = 0.002 if dtype is float16 else 0.02
    np.testing.assert_allclose(results[0], results[1], rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*is broadcast")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_loss_of_a_target_without_dimensions_has_the_wider_dtype(name: str) -> None:
    loss = getattr(functional, name)
    x, target = interlock.ones(3), interlock.tensor(2.0, dtype=interlock.float64)
    assert loss(x, target).dtype is loss(target, x).dtype is interlock.float64


def test_sum_of_losses_of_integers_is_int64() -> None:
    x = interlock.tensor([100, 100], dtype=interlock.int8)
    assert functional.l1_loss(x, x.neg(), reduction="none").dtype is interlock.int8
    loss = functional.l1_loss(x, interlock.zeros(2, dtype=interlock.int8), reduction="sum")
    assert (loss.dtype, loss.item()) == (interlock.int64, 200)


def test_gradient_reaches_probabilities_and_binary_targets() -> None:
    x, target = double(LOGITS), double(PROBABILITIES).requires_grad_()
    binary = double(BINARY).requires_grad_()
    losses: list[Callable[[Tensor], Tensor]] = [
        lambda t: functional.cross_entropy(x, t, double(WEIGHT), label_smoothing=0.1),
        lambda t: functional.binary_cross_entropy_with_logits(x, t, pos_weight=double(WEIGHT)),
        lambda t: functional.mse_loss(x, t),
    ]
    for loss in losses:
        assert interlock.autograd.gradcheck(loss, target)
        assert interlock.autograd.gradgradcheck(loss, target)
    (found,) = interlock.autograd.grad(functional.binary_cross_entropy(x.sigmoid(), binary), binary)
    np.testing.assert_allclose(found.numpy(), (-x / 6).numpy(), rtol=1e-10)


def test_one_sample_has_no_dimension_of_samples() -> None:
    logits = double([0.0, math.log(3.0)])
    for target in (interlock.tensor(1), interlock.tensor([1])):
        loss = functional.cross_entropy(logits, target, reduction="none")
        assert loss.shape == ()
        assert loss.item() == pytest.approx(-math.log(0.75))
    assert functional.cross_entropy(logits, double([0.5, 0.5])).item() == pytest.approx(
        -(math.log(0.25) + math.log(0.75)) / 2
    )


def test_mean_of_ignored_samples_is_nan() -> None:
    x, target = double(LOGITS).requires_grad_(), interlock.tensor([-100, -100])
    for smoothing in (0.0, 0.5):
        loss = functional.cross_entropy(x, target, label_smoothing=smoothing)
        assert math.isnan(loss.item())
        assert functional.cross_entropy(x, target, label_smoothing=smoothing, reduction="sum").item() == 0.0
    functional.cross_entropy(x, target, reduction="sum").backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0] * 3] * 2
    nothing = interlock.ones(0, 3)
    assert math.isnan(functional.nll_loss(nothing, interlock.zeros(0, dtype=interlock.int64)).item())


def test_losses_of_binary_cross_entropy_are_stored_as_the_input_is(device: str) -> None:
    dense = double(PROBABILITIES, device).t()
    permuted = dense.reshape(3, 1, 2).permute(2, 0, 1)
    spaced = double([[*row, *row] for row in PROBABILITIES], device)[:, ::2]
    for x in (dense, dense.half(), permuted, spaced, dense.t(), double(0.5, device).expand(2, 3)):
        target = x.detach().contiguous()
        losses = functional.binary_cross_entropy(x, target, reduction="none")
        assert losses.stride() == interlock.empty_like(x).stride()
        expected = functional.binary_cross_entropy(x.contiguous(), target, reduction="none")
        assert losses.tolist() == expected.tolist()
        weight = interlock.full((x.shape[-1],), 2.0, dtype=x.dtype, device=device)
        weighted = functional.binary_cross_entropy(x, target, weight, reduction="none")
        assert weighted.stride() == losses.stride()
        leaf = x.detach().requires_grad_()
        assert functional.binary_cross_entropy(leaf, target, reduction="none").requires_grad


def test_binary_cross_entropy_of_a_certain_error_is_finite() -> None:
    x = interlock.tensor([0.0, 1.0], requires_grad=True)
    loss = functional.binary_cross_entropy(x, interlock.tensor([1.0, 0.0]))
    assert loss.item() == 100.0
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([-5e11, 5e11])
    huge = interlock.tensor([1000.0, -1000.0])
    losses = functional.binary_cross_entropy_with_logits(huge, interlock.tensor([0.0, 1.0]), reduction="none")
    assert losses.tolist() == [1000.0, 1000.0]


def test_difference_of_shapes_warns_of_broadcasting() -> None:
    for function in (functional.mse_loss, functional.l1_loss):
        with pytest.warns(
            UserWarning, match=r"target is broadcast, because its shape \(3,\) differs"
        ) as caught:
            assert function(interlock.ones(2, 3), interlock.ones(3)).item() == 0.0
        assert caught[0].filename == __file__


def requiring(*shape: int) -> Tensor:
    return interlock.ones(*shape, requires_grad=True)


ONES, INDICES = interlock.ones(2, 3), interlock.tensor([0, 2])
untyped: Any = functional
ce, nll = untyped.cross_entropy, untyped.nll_loss
bce, logits = untyped.binary_cross_entropy, untyped.binary_cross_entropy_with_logits


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nll(ONES, interlock.tensor([0])),
            errors.ShapeError,
            "nll_loss: target must be of shape (2,) for an input of shape (2, 3), got shape (1,)",
        ),
        (
            lambda: ce(interlock.ones(2, 3, 4), interlock.zeros(2, 5, dtype=interlock.int64)),
            errors.ShapeError,
            "cross_entropy: target must be of shape (2, 4) for an input of shape (2, 3, 4), got shape (2, 5)",
        ),
        (
            lambda: nll(interlock.tensor(1.0), interlock.tensor(0)),
            errors.ShapeError,
            "nll_loss: input must have at least one dimension, got shape ()",
        ),
        (
            lambda: ce(ONES, interlock.ones(2, 3, dtype=interlock.int64)),
            errors.DTypeError,
            "cross_entropy: target must be floating point as class probabilities, because it has the shape "
            "of the input, got int64",
        ),
        (
            lambda: nll(ONES, interlock.ones(2)),
            errors.DTypeError,
            "nll_loss: target must be int64 or uint8 class indices, got float32",
        ),
        (
            lambda: nll(ONES, interlock.tensor([0, 3])),
            IndexError,
            "nll_loss: target must contain class indices of range(3), got 3",
        ),
        (
            lambda: ce(ONES, INDICES, interlock.ones(2)),
            errors.ShapeError,
            "cross_entropy: weight must be of shape (3,), one for each class, got shape (2,)",
        ),
        (
            lambda: ce(ONES, INDICES, double(WEIGHT)),
            errors.DTypeError,
            "cross_entropy: weight must be float32, the dtype of the input, got float64",
        ),
        (
            lambda: nll(ONES, INDICES, requiring(3)),
            errors.ArgumentError,
            "nll_loss: weight must not require grad, because it has no gradient, got a tensor that requires "
            "grad; detach() returns one that does not",
        ),
        (
            lambda: ce(ONES, INDICES, label_smoothing=1.5),
            errors.ArgumentError,
            "cross_entropy: label_smoothing must be from 0 to 1, got 1.5",
        ),
        (
            lambda: ce(ONES, ONES, ignore_index=0),
            errors.ArgumentError,
            "cross_entropy: ignore_index must be negative for a target of class probabilities, got 0",
        ),
        (
            lambda: ce(ONES, INDICES, weight=3),
            TypeError,
            "cross_entropy: weight must be a Tensor or None, got int",
        ),
        (
            lambda: ce(ONES, INDICES, ignore_index=1.5),
            TypeError,
            "cross_entropy: ignore_index must be an int, got float",
        ),
        (
            lambda: ce(ONES, INDICES, label_smoothing="a"),
            TypeError,
            "cross_entropy: label_smoothing must be a float, got str",
        ),
        (
            lambda: bce(ONES, interlock.ones(3)),
            errors.ShapeError,
            "binary_cross_entropy: target must have the shape of the input, (2, 3), got shape (3,)",
        ),
        (
            lambda: bce(ONES, double(BINARY)),
            errors.DTypeError,
            "binary_cross_entropy: dtypes must match, got float32 and float64",
        ),
        (
            lambda: bce(ONES * 2, ONES),
            errors.ArgumentError,
            "binary_cross_entropy: input must have elements from 0 to 1, got 2.0",
        ),
        (
            lambda: bce(ONES, ONES * -1),
            errors.ArgumentError,
            "binary_cross_entropy: target must have elements from 0 to 1, got -1.0",
        ),
        (
            lambda: bce(ONES, ONES, interlock.ones(2, 1, 1)),
            errors.ShapeError,
            "binary_cross_entropy: weight must be broadcastable to the shape of the input, (2, 3), got shape "
            "(2, 1, 1)",
        ),
        (
            lambda: logits(ONES, ONES, pos_weight=requiring(3)),
            errors.ArgumentError,
            "binary_cross_entropy_with_logits: pos_weight must not require grad, because it has no gradient, "
            "got a tensor that requires grad; detach() returns one that does not",
        ),
        (
            lambda: logits(ONES, interlock.ones(2, 3, dtype=interlock.int64)),
            errors.DTypeError,
            "binary_cross_entropy_with_logits: target must be floating point, got int64; float() converts it",
        ),
        (
            lambda: functional.mse_loss(INDICES, INDICES),
            errors.DTypeError,
            "mse_loss: input must be floating point, got int64; float() converts it",
        ),
        (
            lambda: functional.l1_loss(INDICES, INDICES),
            errors.DTypeError,
            "l1_loss: input must be floating point, got int64; float() converts it",
        ),
        (
            lambda: functional.l1_loss(INDICES > 0, INDICES > 0, reduction="sum"),
            errors.DTypeError,
            "l1_loss: input must be numeric, got bool; float() converts it",
        ),
        (
            lambda: functional.l1_loss(ONES, ONES > 0, reduction="sum"),
            errors.DTypeError,
            "l1_loss: target must be numeric, got bool; float() converts it",
        ),
        (
            lambda: functional.mse_loss(ONES, ONES, weight=interlock.ones(3)),
            errors.ShapeError,
            "mse_loss: weight must have the shape of the input, (2, 3), got shape (3,)",
        ),
        (lambda: untyped.mse_loss(ONES, 1.0), TypeError, "mse_loss: target must be a Tensor, got float"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], Tensor], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.filterwarnings("ignore:.*target is broadcast")
@pytest.mark.parametrize("function", [functional.mse_loss, functional.l1_loss])
def test_shapes_that_cannot_be_broadcast_are_named(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    name = function.__name__
    with pytest.raises(errors.ShapeError, match=rf"^{name}: shapes \(2,\) and \(3,\) cannot be broadcast$"):
        function(interlock.ones(2), interlock.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: functional.cross_entropy(x, interlock.tensor([0, 3], device=x.device)),
        lambda x: functional.binary_cross_entropy(x * 2, x),
    ],
)
def test_elements_out_of_range_are_reported_asynchronously(
    call: Callable[[Tensor], Tensor], device: str
) -> None:
    loss = call(interlock.ones(2, 3, device=device))
    with pytest.raises(errors.AcceleratorError, match="must"):
        loss.item()


def test_log_softmax_of_large_tensors_does_not_depend_on_threads() -> None:
    x = interlock.rand(600, 2000).requires_grad_()
    target = interlock.arange(600)
    results = []
    threads = interlock.get_num_threads()
    try:
        for count in (1, 3):
            interlock.set_num_threads(count)
            loss = functional.cross_entropy(x, target)
            (gradient,) = interlock.autograd.grad(loss, x)
            results.append((loss.item(), gradient.numpy().tobytes()))
    finally:
        interlock.set_num_threads(threads)
    assert results[0] == results[1]


@pytest.mark.parametrize("loss", [functional.nll_loss, functional.cross_entropy])
def test_uint8_classes_have_the_losses_and_gradients_of_int64(loss: Callable[..., Tensor]) -> None:
    results = []
    for dtype in (interlock.uint8, interlock.int64):
        logits = double(LOGITS).requires_grad_()
        result = loss(logits, interlock.tensor(CLASSES, dtype=dtype), ignore_index=0)
        result.backward()
        assert logits.grad is not None
        results.append((result.item(), logits.grad.tolist()))
    assert results[0] == results[1]
    for dtype in (interlock.int32, interlock.int8, interlock.bool):
        with pytest.raises(errors.DTypeError, match="target must be int64 or uint8 class indices"):
            loss(double(LOGITS), interlock.tensor(CLASSES, dtype=dtype))
