"""Quantized tensors and their linear layer, with integers of Python and float32 of NumPy as the oracle."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import backends, dispatch
from interlock.errors import ArgumentError, DTypeError, ShapeError
from interlock.nn.quantized import functional

LIMITS: dict[str, tuple[int, int]] = {
    "quint8": (0, 255),
    "qint8": (-128, 127),
    "qint32": (-(2**31), 2**31 - 1),
}


def quantized(values: Any, scale: float, zero_point: int, dtype: str) -> interlock.QuantizedTensor:
    array = np.asarray(values, dtype=np.float32)
    return interlock.quantize_per_tensor(
        interlock.tensor(array), scale, zero_point, getattr(interlock, dtype)
    )


def of_integers(integers: np.ndarray[Any, Any], zero_point: int, dtype: str) -> interlock.QuantizedTensor:
    """Return a quantized tensor of these integers, with a scale of 0.5."""
    return quantized((integers - zero_point) * 0.5, 0.5, zero_point, dtype)


def rounded(number: float, zero_point: int, dtype: str) -> int:
    """Return the integer for a number in units of the scale."""
    least, largest = LIMITS[dtype]
    return min(max(round(number) + zero_point, least), largest)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("scale", [0.1, 0.013, 1.0, 3.7])
def test_numbers_are_rounded_to_even_and_limited(dtype: str, scale: float) -> None:
    least, largest = LIMITS[dtype]
    steps = np.arange(-1200, 1200, dtype=np.float32) / np.float32(4.0)
    numbers = (steps * np.float32(scale)).astype(np.float32)
    inverse = np.float32(1.0) / np.float32(scale)
    for zero_point in (least, largest, 7):
        tensor = quantized(numbers, scale, zero_point, dtype)
        expected = [rounded(float(number * inverse), zero_point, dtype) for number in numbers]
        assert tensor.int_repr().tolist() == expected
        assert (tensor.q_scale(), tensor.q_zero_point()) == (scale, zero_point)
        differences = (np.array(expected) - zero_point).astype(np.float32)
        assert tensor.dequantize().tolist() == (differences * np.float32(scale)).tolist()
        assert interlock.dequantize(tensor).tolist() == tensor.dequantize().tolist()


@pytest.mark.parametrize("dtype", LIMITS)
def test_infinities_are_limited_and_nan_is_a_limit(dtype: str) -> None:
    least, largest = LIMITS[dtype]
    tensor = quantized([np.inf, -np.inf, 3e38, -3e38, np.nan], 0.1, 3, dtype)
    nan = least if dtype == "qint32" else largest
    assert tensor.int_repr().tolist() == [largest, least, largest, least, nan]


def test_quantized_tensor_describes_itself() -> None:
    tensor = quantized([[1.0, -1.0]], 0.5, 3, "qint8")
    assert (tensor.shape, str(tensor.device), tensor.dtype) == ((1, 2), "cpu", interlock.qint8)
    expected = "tensor([[ 1., -1.]], size=(1, 2), dtype=interlock.qint8, scale=0.5, zero_point=3)"
    assert repr(tensor) == expected
    stored = [quantized([1.0], 1.0, 0, dtype).int_repr().dtype for dtype in LIMITS]
    assert stored == [interlock.uint8, interlock.int8, interlock.int32]
    assert pickle.loads(pickle.dumps(interlock.quint8)) == interlock.quint8 != interlock.qint8


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
@pytest.mark.parametrize("dtype", LIMITS)
def test_quantized_tensors_can_be_copied_and_pickled(copied: Callable[[Any], Any], dtype: str) -> None:
    original = quantized([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], 0.1, 3, dtype)
    twice = copied([original, original])
    assert (twice[0] is twice[1]) == (twice is not original)
    made = copied(original)
    assert repr(made) == repr(original)
    assert made.int_repr().equal(original.int_repr())
    assert (made.dtype, made.q_scale(), made.q_zero_point()) == (original.dtype, 0.1, 3)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({0: 1}, "_rebuild_quantized: integers must be a Tensor, got int"),
        ({0: interlock.ones(2)}, "QuantizedTensor: integers must be int8, got float32"),
        ({1: 0.0}, "QuantizedTensor: scale must be a positive number"),
        ({2: 1000}, "QuantizedTensor: zero_point must be an integer from -128 to 127"),
        ({3: "qint8"}, "_rebuild_quantized: dtype must be interlock.quint8, qint8 or qint32, got str"),
    ],
)
def test_a_damaged_pickle_raises(change: dict[int, Any], error: str) -> None:
    function, arguments = quantized([1.0], 0.1, 3, "qint8").__reduce__()  # type: ignore[misc]
    with pytest.raises((TypeError, ValueError), match=error):
        function(*(change.get(at, value) for at, value in enumerate(arguments)))
    assert len({interlock.quint8, interlock.qint8, interlock.qint32, interlock.quint8}) == 3


def test_integers_are_a_copy_without_history() -> None:
    x = interlock.ones(2, requires_grad=True)
    tensor = interlock.quantize_per_tensor(x, 0.5, 3, interlock.quint8)
    tensor.int_repr().fill_(0)
    x.detach().fill_(9.0)
    assert tensor.int_repr().tolist() == [5, 5]
    assert not tensor.dequantize().requires_grad


def test_elements_are_quantized_in_the_order_of_the_shape() -> None:
    x = interlock.arange(6.0).reshape(2, 3).t()
    tensor = interlock.quantize_per_tensor(x, 1.0, 0, interlock.quint8)
    assert tensor.int_repr().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert quantized([], 1.0, 0, "quint8").int_repr().tolist() == []
    assert quantized(2.0, 1.0, 0, "quint8").dequantize().item() == 2.0


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e-60, 1e-39, 1e60])
def test_scale_without_a_reciprocal_is_refused(scale: float) -> None:
    with pytest.raises(
        ArgumentError, match=r"^quantize_per_tensor: scale must be a positive number that has"
    ):
        quantized([1.0], scale, 0, "quint8")
    tensor, weight = quantized([[1.0]], 1.0, 0, "quint8"), quantized([[1.0]], 1.0, 0, "qint8")
    with pytest.raises(ArgumentError, match=r"^quantized_linear: scale must be a positive number that has"):
        functional.linear(tensor, weight, scale=scale)


def test_wrong_arguments_of_quantize_are_refused() -> None:
    x = interlock.ones(1)
    quantize: Any = interlock.quantize_per_tensor
    for dtype, (least, largest) in LIMITS.items():
        for zero_point in (least - 1, largest + 1):
            allowed = (
                rf"zero_point must be an integer from {least} to {largest} for {dtype}, got {zero_point}$"
            )
            with pytest.raises(ArgumentError, match=allowed):
                quantize(x, 0.1, zero_point, getattr(interlock, dtype))
    for other in (x.double(), x.half(), x.long()):
        with pytest.raises(DTypeError, match=r"^quantize_per_tensor: input must be float32, got "):
            quantize(other, 0.1, 0, interlock.quint8)
    allowed = r"dtype must be interlock\.quint8, qint8 or qint32, got interlock\.uint8$"
    with pytest.raises(DTypeError, match=allowed):
        quantize(x, 0.1, 0, interlock.uint8)
    with pytest.raises(TypeError, match=r"^dequantize: input must be a QuantizedTensor, got Tensor$"):
        interlock.dequantize(x)  # type: ignore[arg-type]


@pytest.mark.parametrize("zero_points", [(0, 0, 0), (255, -128, 255), (128, 127, 7), (3, 5, 128)])
def test_linear_of_the_full_range_is_exact(zero_points: tuple[int, int, int]) -> None:
    random = np.random.default_rng(sum(zero_points))
    x, w = random.integers(0, 256, (7, 300)), random.integers(-128, 128, (5, 300))
    # Every product of extremes is in a sum.
    x[0], w[0], x[1], w[1] = 255, 127, 255, -128
    bias = random.standard_normal(5).astype(np.float32)
    zero_x, zero_w, zero_out = zero_points
    centered_x, centered_w = (x - zero_x).tolist(), (w - zero_w).tolist()
    scale = 40.0
    numbers = [
        [
            (sum(map(int.__mul__, row, column)) * 0.25 + float(b)) / scale
            for column, b in zip(centered_w, bias, strict=True)
        ]
        for row in centered_x
    ]
    expected = [[rounded(number, zero_out, "quint8") for number in row] for row in numbers]
    given = of_integers(x, zero_x, "quint8"), of_integers(w, zero_w, "qint8")
    out = functional.linear(*given, interlock.tensor(bias), scale, zero_out)
    assert out.int_repr().tolist() == expected
    assert (out.dtype, out.q_scale(), out.q_zero_point()) == (interlock.quint8, scale, zero_out)


def test_ties_of_linear_are_rounded_to_even() -> None:
    x = of_integers(np.arange(256).reshape(-1, 1), 0, "quint8")
    out = functional.linear(x, of_integers(np.array([[1]]), 0, "qint8"), scale=0.5, zero_point=0)
    assert out.int_repr().flatten().tolist() == [round(number / 2) for number in range(256)]


def test_sums_of_linear_do_not_wrap() -> None:
    # The sum needs more than 31 bits.
    x, w = np.full((1, 40_000), 255), np.full((1, 40_000), 127)
    out = functional.linear(of_integers(x, 0, "quint8"), of_integers(w, -128, "qint8"), None, 1e7, 0)
    assert out.int_repr().tolist() == [[round(255 * 255 * 40_000 * 0.25 / 1e7)]]


def test_linear_accepts_any_number_of_dimensions() -> None:
    w = quantized(np.ones((4, 3)), 0.5, 0, "qint8")
    for shape in ((3,), (2, 3), (2, 0, 3), (2, 5, 3)):
        x = quantized(np.ones(shape), 0.25, 8, "quint8")
        out = functional.linear(x, w)
        assert out.shape == (*shape[:-1], 4)
        assert (out.q_scale(), out.q_zero_point()) == (0.25, 8), "those of the input"
        assert out.dequantize().flatten().tolist() == [3.0] * int(np.prod(out.shape))
    empty = functional.linear(
        quantized(np.ones((2, 0)), 0.25, 8, "quint8"), quantized(np.ones((4, 0)), 1, 0, "qint8")
    )
    assert empty.int_repr().tolist() == [[8] * 4] * 2


def test_linear_bias_of_nan_is_the_largest_integer() -> None:
    x, w = quantized([[1.0]], 1.0, 0, "quint8"), quantized([[1.0]], 1.0, 0, "qint8")
    out = functional.linear(x, w, interlock.tensor([float("nan")]))
    assert out.int_repr().tolist() == [[255]]


def test_wrong_operands_of_linear_are_refused() -> None:
    x, w = quantized(np.ones((2, 3)), 0.5, 0, "quint8"), quantized(np.ones((4, 3)), 0.5, 0, "qint8")
    linear: Any = functional.linear
    with pytest.raises(ArgumentError, match=r"^quantized_linear: input must be quint8, got qint8$"):
        linear(w, w)
    with pytest.raises(ArgumentError, match=r"^quantized_linear: weight must be qint8, got quint8$"):
        linear(x, x)
    with pytest.raises(TypeError, match=r"^quantized_linear: weight must be a QuantizedTensor, got Tensor$"):
        linear(x, w.dequantize())
    expected = r"weight must be of shape \(outputs, 3\), got shape "
    for shape in ((4, 2), (3,), (1, 4, 3)):
        with pytest.raises(ShapeError, match=expected):
            linear(x, quantized(np.ones(shape), 0.5, 0, "qint8"))
    with pytest.raises(ShapeError, match=r"input must have at least one dimension"):
        linear(quantized(1.0, 0.5, 0, "quint8"), w)
    with pytest.raises(ShapeError, match=r"bias must be of shape \(4,\), got shape \(3,\)$"):
        linear(x, w, interlock.ones(3))
    with pytest.raises(DTypeError, match=r"bias must be float32, got float64$"):
        linear(x, w, interlock.ones(4).double())
    with pytest.raises(
        ArgumentError, match=r"zero_point must be an integer from 0 to 255 for quint8, got 256$"
    ):
        linear(x, w, None, 0.5, 256)


def test_linear_is_refused_without_an_engine() -> None:
    x, w = quantized(np.ones((2, 3)), 0.5, 0, "quint8"), quantized(np.ones((4, 3)), 0.5, 0, "qint8")
    call = "quantized_linear cpu quint8 2x3 @ qint8 3x4"
    with dispatch.record() as calls:
        functional.linear(x, w)
    other = "onednn: backends.quantized.engine is 'native', not 'onednn'"
    assert [str(each) for each in calls] == [f"{call} -> native | {other}"]
    reasons = [
        f"{engine}: backends.quantized.engine is 'none', not '{engine}'" for engine in ("onednn", "native")
    ]
    reason = re.escape(f"no kernel can run this call ({'; '.join(reasons)})") + "$"
    with backends.override({"quantized.engine": "none"}):
        assert dispatch.explain("quantized_linear", x, w).kernel is None
        with pytest.raises(RuntimeError, match=reason):
            functional.linear(x, w)
        assert x.dequantize().tolist() == [[1.0] * 3] * 2, "needs no engine"


def test_quantized_tensors_are_computed_on_devices(devices: tuple[str, ...]) -> None:
    x = interlock.arange(6.0).reshape(2, 3)
    on_cpu = interlock.quantize_per_tensor(x, 0.5, 3, interlock.quint8)
    weight = interlock.quantize_per_tensor(x, 0.25, -5, interlock.qint8)
    bias = interlock.tensor([0.5, -3.0])
    tensor = interlock.quantize_per_tensor(x.to(devices[0]), 0.5, 3, interlock.quint8)
    assert str(tensor.device) == devices[0]
    assert tensor.int_repr().tolist() == on_cpu.int_repr().tolist()
    other = interlock.quantize_per_tensor(x.to(devices[0]), 0.25, -5, interlock.qint8)
    for given in (None, bias):
        placed = None if given is None else given.to(devices[0])
        out = functional.linear(tensor, other, placed, 0.3, 9)
        assert out.int_repr().tolist() == functional.linear(on_cpu, weight, given, 0.3, 9).int_repr().tolist()
    with pytest.raises(RuntimeError, match=r"^quantized_linear: .*device"):
        functional.linear(tensor, weight)
    with pytest.raises(RuntimeError, match=r"^quantized_linear: .*device"):
        functional.linear(tensor, other, bias)
