"""float16 and bfloat16 in Python: names, conversion, NumPy, pickling."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError, DTypeError
from interlock.nn import functional

HALVES = (interlock.float16, interlock.bfloat16)


def test_half_is_a_name_of_float16() -> None:
    assert interlock.half is interlock.float16
    assert (interlock.bfloat16.itemsize, interlock.bfloat16.is_floating_point) == (2, True)
    assert (repr(interlock.half), repr(interlock.bfloat16)) == ("interlock.float16", "interlock.bfloat16")
    assert pickle.loads(pickle.dumps(interlock.half)) is interlock.float16


def test_half_and_bfloat16_convert() -> None:
    x = interlock.tensor([1.0, 0.1])
    assert x.half().dtype == interlock.float16
    assert x.bfloat16().tolist() == [1.0, 0.10009765625]
    assert x.half().float().tolist() == [1.0, 0.0999755859375]
    half = x.half()
    assert half.half() is half
    assert (half.element_size(), half.nbytes) == (2, 4)
    assert interlock.typename(half) == "interlock.HalfTensor"
    assert interlock.typename(x.bfloat16()) == "interlock.BFloat16Tensor"


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_can_be_created_by_every_function(dtype: interlock.dtype) -> None:
    created = [
        interlock.zeros(2, dtype=dtype),
        interlock.ones(2, dtype=dtype),
        interlock.full((2,), 0.5, dtype=dtype),
        interlock.arange(3, dtype=dtype),
        interlock.rand(4, dtype=dtype),
        interlock.randn(4, dtype=dtype),
        interlock.tensor([1, 2.5], dtype=dtype),
        interlock.ones_like(interlock.zeros(2), dtype=dtype),
    ]
    assert {x.dtype for x in created} == {dtype}
    assert created[3].tolist() == [0.0, 1.0, 2.0]


def test_numbers_beyond_the_range_are_refused_where_they_cannot_be_meant() -> None:
    x, one = interlock.zeros(2, dtype=interlock.float16), interlock.tensor([True, False])
    for number in (65505.0, -65505, 2**40):
        with pytest.raises(RuntimeError, match=rf"^masked_fill: .* float16 can hold, got {number}"):
            x.masked_fill(one, number)
        with pytest.raises(RuntimeError, match=rf"^add: alpha .* float16 can hold, got {number}"):
            x.add(x, alpha=number)
    with pytest.raises(RuntimeError, match="float16"):
        interlock.ones(2, dtype=interlock.float16) ** 70000


@pytest.mark.parametrize("number", [65505, -65519.0, 65520, -70000, 2**62, 1e39, -1e300, float("inf")])
@pytest.mark.parametrize("dtype", [interlock.float16, interlock.bfloat16], ids=str)
def test_fill_and_full_round_numbers_beyond_the_range(dtype: interlock.dtype, number: float) -> None:
    rounded = interlock.tensor([number], dtype=dtype).tolist()
    x = interlock.zeros(1, dtype=dtype)
    filled = x.clone().fill_(number), interlock.full((1,), number, dtype=dtype)
    for result in (*filled, interlock.full_like(x, number), x.new_full((1,), number)):
        assert (result.dtype, result.tolist()) == (dtype, rounded)


def test_numbers_are_rounded_to_half_precision() -> None:
    assert interlock.full((1,), -65504, dtype=interlock.float16).item() == -65504.0
    assert interlock.full((1,), 2**40, dtype=interlock.bfloat16).item() == 2.0**40
    assert interlock.full((1,), 1e6, dtype=interlock.bfloat16).item() == 999424.0
    assert interlock.tensor([1e6], dtype=interlock.float16).item() == float("inf")
    assert (interlock.zeros(1, dtype=interlock.float16) + 1e6).item() == float("inf")


@pytest.mark.parametrize("dtype", [interlock.float16, interlock.bfloat16], ids=str)
def test_assignment_refuses_a_number_beyond_the_range_where_pytorch_does(dtype: interlock.dtype) -> None:
    # PyTorch 2.15 rounds a number for one element that no tensor selects, and for several index tensors.
    single: list[Any] = [(0, 0), (slice(0, 1), 0), (..., 1, slice(2, 3))]
    for index in single:
        x = interlock.zeros(2, 3, dtype=dtype)
        x[index] = -1e300
        assert sorted(x.flatten().tolist()) == [float("-inf"), 0, 0, 0, 0, 0]
    tensors: list[Any] = [([0], [2]), (interlock.tensor([False, True]), [0]), ([[1]], [1])]
    for index in tensors:
        x = interlock.zeros(2, 3, dtype=dtype)
        x[index] = -1e300
        assert sorted(x.flatten().tolist()) == [float("-inf"), 0, 0, 0, 0, 0]
    one = interlock.zeros(1, dtype=dtype)
    one[True] = 1e300
    assert one.item() == float("inf")
    x = interlock.zeros(2, 3, dtype=dtype)
    x[False] = 1e300
    several: list[Any] = [
        0,
        ...,
        True,
        slice(0, 0),
        [0],
        (0, [0]),
        (interlock.tensor(0), interlock.tensor([0])),
    ]
    for index in several:
        with pytest.raises(
            ArgumentError, match=r"__setitem__: value must be a number that .* can hold, got 1e300"
        ):
            x[index] = 1e300
    assert (x.flatten().tolist(), x._version) == ([0] * 6, 0)
    for number in (float("inf"), 65504):
        x[0] = number
        assert x[0, 0].item() == interlock.tensor(number, dtype=dtype).item()


def test_powers_with_a_half_as_exponent_are_those_of_pytorch() -> None:
    numbers = [-0.0, float("-inf"), 4.0]
    for exponent, of_float16, others in (
        (0.5, "[0.0, inf, 2.0]", "[-0.0, nan, 2.0]"),
        (-0.5, "[inf, 0.0, 0.5]", "[-inf, nan, 0.5]"),
    ):
        for dtype in (interlock.float16, interlock.bfloat16, interlock.float32):
            expected = of_float16 if dtype is interlock.float16 else others
            assert str((interlock.tensor(numbers, dtype=dtype) ** exponent).tolist()) == expected


def test_numbers_of_numpy_determine_the_dtype() -> None:
    one = np.float16(1)
    assert {interlock.tensor(data).dtype for data in (one, [one], [one, 1], [[one], [True]])} == {
        interlock.float16
    }
    assert interlock.tensor([one, 1.0]).dtype == interlock.float32
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert interlock.tensor(np.array([1.0], dtype=ml_dtypes.bfloat16)).dtype == interlock.bfloat16


# Operations with the gradient of their first operand, which the same operation in float32 checks.
DIFFERENTIABLE: list[Callable[[interlock.Tensor, interlock.Tensor], interlock.Tensor]] = [
    lambda x, y: x + y,
    lambda x, y: x - 0.3 * y,
    lambda x, y: x * y,
    lambda x, y: y / x,
    lambda x, _: 2.5 / x,
    lambda x, y: x**y,
    lambda x, _: x**3,
    lambda x, _: 1.5**x,
    lambda x, y: x.add(y, alpha=0.3),
    lambda x, _: x.exp(),
    lambda x, _: x.log(),
    lambda x, _: x.sqrt(),
    lambda x, _: x.sin(),
    lambda x, _: x.cos(),
    lambda x, _: x.tanh(),
    lambda x, _: x.sigmoid(),
    lambda x, _: (x - 1).relu(),
    lambda x, _: (x - 1).abs(),
    lambda x, _: -x,
    lambda x, _: x.mean(0),
    lambda x, _: x.amax(1),
    lambda x, _: x.softmax(1) ** 2,
    lambda x, _: x.log_softmax(0) ** 2,
    lambda x, y: x @ y.t(),
    lambda x, y: interlock.addmm(y[:, :2], x, y.t()[:, :2], beta=0.5, alpha=2),
    lambda x, y: functional.linear(x, y, y[:, 0]),
    lambda x, y: x.clone().mul_(y),
    lambda x, _: x.t()[1:].float().to(x.dtype),
    lambda x, _: x[[0, 1, 0]],
    lambda x, _: x.as_strided((2, 2), (1, 1)) * 1,
    lambda x, y: interlock.cat([x, y]),
]


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
@pytest.mark.parametrize(("dtype", "tolerance"), [(interlock.float16, 4e-3), (interlock.bfloat16, 4e-2)])
def test_gradients_are_those_of_float32_up_to_rounding(
    dtype: interlock.dtype, tolerance: float, number: int
) -> None:
    operation = DIFFERENTIABLE[number]
    interlock.manual_seed(number)
    x, y = ((interlock.rand(2, 3) + 0.5).to(dtype) for _ in range(2))

    def gradient(x: interlock.Tensor, y: interlock.Tensor) -> tuple[interlock.dtype, list[list[float]]]:
        leaf = x.clone().requires_grad_()
        result = operation(leaf, y)
        assert result.dtype == x.dtype
        result.sum().backward()
        assert leaf.grad is not None
        return leaf.grad.dtype, leaf.grad.tolist()

    own, found = gradient(x, y)
    _, expected = gradient(x.float(), y.float())
    assert own == dtype
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_survive_pickle_and_copies(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1.0, -0.1, float("nan"), float("-inf")], dtype=dtype)
    for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.clone()):
        assert other.dtype == dtype
        assert repr(other.tolist()) == repr(x.tolist())


def test_float16_arrays_share_memory() -> None:
    array = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float16)
    x = interlock.from_numpy(array.T)
    assert (x.dtype, x.stride()) == (interlock.float16, (1, 2))
    x.mul_(2)
    assert array.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    back = x.numpy()
    assert back.dtype == np.float16
    back[0, 0] = 7
    assert array[0, 0] == 7
    assert memoryview(x).format == "e"


def test_bfloat16_arrays_of_ml_dtypes_share_memory() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([[1.0, 2.5], [3.0, 4.0]], dtype=ml_dtypes.bfloat16)
    x = interlock.from_numpy(array.T)
    assert (x.dtype, x.stride(), x.tolist()) == (interlock.bfloat16, (1, 2), [[1.0, 3.0], [2.5, 4.0]])
    x.mul_(2)
    assert array.tolist() == [[2.0, 5.0], [6.0, 8.0]]
    back = x.numpy()
    assert back.dtype == ml_dtypes.bfloat16
    back[0, 0] = 7
    assert array[0, 0] == 7
    assert interlock.tensor(array).dtype == interlock.bfloat16
    assert interlock.tensor(np.array(0.5, dtype=ml_dtypes.bfloat16)).item() == 0.5
    with pytest.raises(TypeError, match="float8_e4m3fn"):
        interlock.from_numpy(np.ones(1, dtype=ml_dtypes.float8_e4m3fn))


def test_bfloat16_without_ml_dtypes_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    x = interlock.ones(2, dtype=interlock.bfloat16)
    with pytest.raises(TypeError, match=r"install ml_dtypes, or use float\(\)"):
        x.numpy()
    assert x.float().numpy().tolist() == [1.0, 1.0]
    assert interlock.from_numpy(np.ones(1, dtype=np.float16)).dtype == interlock.float16


def test_buffer_of_bfloat16_is_refused() -> None:
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(interlock.ones(2, dtype=interlock.bfloat16))


@pytest.mark.parametrize("dtype", HALVES)
def test_training_step_in_halves(dtype: interlock.dtype) -> None:
    weight = interlock.tensor([[0.5, -0.25], [1.0, 2.0]], dtype=dtype, requires_grad=True)
    x = interlock.tensor([[1.0, 2.0]], dtype=dtype)
    loss = interlock.cross_entropy(x @ weight, interlock.tensor([1]))
    loss.backward()
    assert weight.grad is not None
    assert (loss.dtype, weight.grad.dtype) == (dtype, dtype)
    reference = weight.detach().float().requires_grad_()
    interlock.cross_entropy(x.float() @ reference, interlock.tensor([1])).backward()
    assert reference.grad is not None
    assert np.allclose(weight.grad.float().numpy(), reference.grad.numpy(), atol=0.02)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_round_a_number_operand_first_and_products_do_not(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1.7, -2.3, 100.1, 0.011], dtype=dtype)
    wide, third = x.float(), 1 / 3
    rounded, single = interlock.tensor(third, dtype=dtype).float(), interlock.tensor(third)
    # A tensor without dimensions is a number, too, on the right.
    scalar = interlock.tensor(third, dtype=interlock.float64)
    for found, expected in (
        (x + third, wide + rounded),
        (x - third, wide - rounded),
        (third - x, rounded - wide),
        (x * third, wide * single),
        (x / third, wide / single),
        (x + scalar, wide + rounded),
        (x * scalar, wide * single),
        (scalar * x, wide * rounded),
        (x.clone().add_(third), wide + rounded),
        (x.clone().mul_(third), wide * single),
        (x.clone().div_(scalar), wide / single),
        # `alpha` is rounded, and its product is not.
        (x.add(x, alpha=third), wide + rounded * wide),
        (x.clone().sub_(x, alpha=third), wide - rounded * wide),
        # Quotients of a number are products of rounded reciprocals.
        (7.0 / x, (1 / wide).to(dtype).float() * 7),
    ):
        assert found.dtype == dtype
        assert found.equal(expected.to(dtype))
    assert (interlock.tensor([third], dtype=dtype) == third).all()


@pytest.mark.parametrize("source", [interlock.float32, interlock.float64, interlock.int32, interlock.int64])
def test_mean_as_halves_is_rounded_once(source: interlock.dtype) -> None:
    x = interlock.tensor([[257, 257, 257, 259]], dtype=source)
    assert x.mean(dtype=interlock.bfloat16).item() == 258.0
    assert interlock.mean(x, 1, dtype=interlock.bfloat16).tolist() == [258.0]
    large = interlock.tensor([70000, -70000, 1], dtype=source)
    assert (
        large.mean(dtype=interlock.float16).item() == interlock.tensor(1 / 3, dtype=interlock.float16).item()
    )
    assert large[:1].mean(dtype=interlock.float16).item() == float("inf")
    with pytest.raises(DTypeError, match="mean: input must be floating point, got int32"):
        x.mean(dtype=interlock.int32)


def test_mean_as_halves_has_a_gradient_of_the_source_dtype() -> None:
    x = interlock.ones(4, dtype=interlock.float64, requires_grad=True)
    x.mean(dtype=interlock.bfloat16).backward()
    assert x.grad is not None
    assert (x.grad.dtype, x.grad.tolist()) == (interlock.float64, [0.25] * 4)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_are_accumulated_in_float32_and_rounded_once(dtype: interlock.dtype) -> None:
    row, expected = interlock.ones(1, 5000, dtype=dtype), interlock.tensor(5000.0, dtype=dtype)
    assert row.sum().equal(expected)
    assert (row @ row.t()).item() == expected.item()
    large = interlock.full((3, 2), 60000.0, dtype=dtype)
    assert large.mean(0).equal(large[0])
    # The bias is added before the result is rounded.
    x, bias = row[:, :257], interlock.tensor([-256.0], dtype=dtype)
    assert functional.linear(x, x, bias).tolist() == [[1.0]]
    assert interlock.addmm(bias, x, x.t()).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (interlock.atan2, (0.005, 0.004), (-1.84e4, 2.93e4)),
        (lambda x: interlock.stack([x, 2 * x]).std(), (0.001,), (0.0,)),
    ],
)
def test_steps_of_gradients_may_be_out_of_the_range_of_float16(
    function: Any, values: Any, expected: Any
) -> None:
    x = interlock.tensor(0.0005, dtype=interlock.float16, requires_grad=True)
    (gradient,) = interlock.autograd.grad(x.rsqrt(), x)
    assert gradient.item() == pytest.approx(-0.5 * x.item() ** -1.5, rel=1e-3)
    inputs = [interlock.tensor(value, dtype=interlock.float16, requires_grad=True) for value in values]
    total = sum(interlock.autograd.grad(function(*inputs), inputs, create_graph=True))
    assert isinstance(total, interlock.Tensor)
    found = [gradient.item() for gradient in interlock.autograd.grad(total, inputs)]
    assert found == pytest.approx(expected, rel=1e-2, abs=5.0)
