"""Numbers out of range of a tensor's dtype, for each function that stores a number in a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError, DTypeError

INF, NAN = float("inf"), float("nan")
NO_INTEGERS = [INF, -INF, NAN, 1e300, -1e300, 2.0**63, -(2.0**64)]
NO_SINGLES = [1e300, -1e300, 3.4028235e38]


def name_of(dtype: interlock.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def target(dtype: interlock.dtype) -> interlock.Tensor:
    return interlock.ones(2, dtype=dtype)


def assign(index: Any) -> Callable[[interlock.Tensor, Any], object]:
    return lambda tensor, value: tensor.__setitem__(index, value)


WRITES: dict[str, Callable[[interlock.Tensor, Any], object]] = {
    "fill_": interlock.Tensor.fill_,
    "integer": assign(0),
    "slice": assign(slice(None)),
    "empty slice": assign(slice(0, 0)),
    "list": assign([0]),
    "mask": assign(interlock.tensor([True, False])),
    "True": assign(True),
    "False": assign(False),
}
# The greatest and least numbers of each dtype, and those without a range.
HELD = {
    interlock.int64: [2**63 - 1, -(2**63), -(2.0**63), 1.5, True],
    interlock.float32: [INF, -INF, NAN, 3.4028234663852886e38, 2**62],
    interlock.float64: [INF, NAN, 1e300],
    interlock.bool: [INF, NAN, 1e300, 0.5],
    interlock.int8: [127.9, -128, -128.0],
    interlock.uint8: [255.7, -0.0],
    interlock.int32: [2147483647.9],
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [(interlock.int64, value) for value in NO_INTEGERS]
    + [(interlock.float32, value) for value in NO_SINGLES]
    + [(interlock.int8, value) for value in (128.0, -128.5, 300)]
    + [(interlock.uint8, value) for value in (256.0, -0.5)],
)
def test_write_refuses_a_number_out_of_range(
    write: Callable[[interlock.Tensor, Any], object], dtype: interlock.dtype, value: float
) -> None:
    tensor = target(dtype)
    with pytest.raises(ArgumentError, match=f"value must be a number that {name_of(dtype)} can hold, got"):
        write(tensor, value)
    assert (tensor.tolist(), tensor._version) == ([1, 1], 0)


@pytest.mark.parametrize("dtype", HELD)
def test_write_accepts_every_number_in_range_of_the_dtype(dtype: interlock.dtype) -> None:
    for value in HELD[dtype]:
        expected = np.array([value]).astype(name_of(dtype))
        one = target(dtype)
        one[0] = value
        made = interlock.tensor([value], dtype=dtype)
        for tensor in (target(dtype).fill_(value), interlock.full((2,), value, dtype=dtype), one, made):
            assert tensor.dtype is dtype
            np.testing.assert_array_equal(tensor[:1].numpy(), expected)


def test_message_names_the_function_and_the_number() -> None:
    with pytest.raises(ArgumentError, match=r"^fill_: value must be a number that int64 can hold, got nan$"):
        target(interlock.int64).fill_(NAN)
    with pytest.raises(ArgumentError, match=r"^full: fill_value must be .* float32 can hold, got 1e300$"):
        interlock.full((1,), 1e300)
    with pytest.raises(ArgumentError, match=r"^__setitem__: value must be .* int64 can hold, got -inf$"):
        target(interlock.int64)[0] = -INF
    with pytest.raises(ArgumentError, match=r"^tensor: data must be .* int64 can hold, got inf$"):
        interlock.tensor([[1.0, INF]], dtype=interlock.int64)


def test_float_argument_accepts_every_int_that_a_float_can_hold() -> None:
    one = interlock.ones(1)
    assert interlock.allclose(one, one, rtol=2**70)
    for call in (lambda p: interlock.bernoulli(one, p), lambda p: interlock.nn.functional.dropout(one, p)):
        with pytest.raises(ValueError, match="p must be from 0 to 1, got 1"):
            call(2**70)
    with pytest.raises(
        OverflowError, match="allclose: atol must be a number that a float can hold, got an int"
    ):
        interlock.allclose(one, one, atol=10**400)


@pytest.mark.parametrize("value", NO_INTEGERS)
@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_full_and_tensor_refuse_numbers_beyond_int64(value: float, shape: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="full: fill_value must be a number that int64 can hold"):
        interlock.full(shape, value, dtype=interlock.int64)
    with pytest.raises(ArgumentError, match="full: fill_value must be a number that int64 can hold"):
        interlock.full(shape, interlock.tensor(value, dtype=interlock.float64), dtype=interlock.int64)
    for make in (interlock.tensor, interlock.as_tensor):
        with pytest.raises(ArgumentError, match="data must be a number that int64 can hold"):
            make([1, value], dtype=interlock.int64)
        with pytest.raises(ArgumentError, match="data must be a number that int64 can hold"):
            make(np.float64(value), dtype=interlock.int64)


@pytest.mark.parametrize("value", NO_SINGLES)
def test_full_refuses_numbers_beyond_float32(value: float) -> None:
    for dtype in (interlock.float32, None):
        with pytest.raises(ArgumentError, match="full: fill_value must be a number that float32 can hold"):
            interlock.full((0,), value, dtype=dtype)
    assert interlock.full((1,), value, dtype=interlock.float64).item() == value


def test_tensor_rounds_numbers_beyond_float32_to_infinity() -> None:
    assert interlock.tensor([1e300, -1e300]).tolist() == [INF, -INF]


def test_tensor_of_dtype_bool_is_true_except_for_zero() -> None:
    made = interlock.tensor([NAN, INF, 0.5, 0.0, 2**70, 10**400], dtype=interlock.bool)
    assert made.tolist() == [True, True, True, False, True, True]


def test_tensor_converts_integers_beyond_64_bits_to_float() -> None:
    assert interlock.tensor([1.5, 2**70, -(2**63) - 1]).tolist() == [1.5, 2.0**70, -(2.0**63)]
    assert interlock.tensor(2**63, dtype=interlock.float64).item() == 2.0**63
    for given in ([2**63], -(2**63) - 1, [1, 10**5000]):
        with pytest.raises(ArgumentError, match="tensor: data must be ints that int64 can hold, got"):
            interlock.tensor(given)
    with pytest.raises(OverflowError, match="tensor: data must be ints that float64 can hold"):
        interlock.tensor([1.5, 10**400])


def test_integer_beyond_64_bits_is_an_overflow_error() -> None:
    x = target(interlock.int64)
    calls: tuple[Callable[[Any], object], ...] = (
        x.fill_,
        x.add,
        x.add_,
        lambda value: x + value,
        lambda value: value * x,
        lambda value: x == value,
        lambda value: x**value,
        lambda value: x.add(x, alpha=value),
        lambda value: interlock.full((1,), value),
        interlock.arange,
    )
    for call in calls:
        for value in (2**64, 10**5000, -(2**63) - 1):
            with pytest.raises(OverflowError, match="must be an int that int64 can hold, got"):
                call(value)
        with pytest.raises(ArgumentError, match=f"must be an int that int64 can hold, got {2**63}"):
            call(2**63)
    assert (x.tolist(), x._version) == ([1, 1], 0)


def test_assigned_integer_beyond_64_bits_is_an_argument_error() -> None:
    for value in (2**63, 2**70, -(2**63) - 1):
        with pytest.raises(ArgumentError, match="must be an int that int64 can hold, got"):
            target(interlock.float32)[0] = value


def test_alpha_must_be_in_range_of_the_result_dtype() -> None:
    x = target(interlock.float32)
    for operate in (x.add, x.add_, x.sub, x.sub_):
        for other in (x, 2):
            with pytest.raises(
                ArgumentError, match="alpha must be a number that float32 can hold, got 1e300"
            ):
                operate(other, alpha=1e300)
    assert (x.tolist(), x._version) == ([1, 1], 0)
    assert x.add(x, alpha=INF).tolist() == [INF, INF]
    assert x.double().add(1, alpha=1e300).tolist() == [1e300, 1e300]


@pytest.mark.parametrize("value", [300, -300, 2**40])
def test_where_refuses_a_number_out_of_range(value: int) -> None:
    x = target(interlock.uint8)
    for call in (
        lambda: interlock.where(x == 1, value, x),
        lambda: x.where(x == 1, value),
        lambda: interlock.where(x == 1, 1e300, x.float()),
    ):
        with pytest.raises(ArgumentError, match=r"where: (input|other) must be a number that \w+ can hold"):
            call()
    assert interlock.where(x == 1, -1, x).tolist() == [255, 255]
    assert interlock.where(x == 1, 2.5, x).tolist() == [2.5, 2.5]
    assert interlock.where(x == 1, INF, x).tolist() == [INF, INF]
    assert interlock.where(x == 1, 70000, x.half()).tolist() == [INF, INF]


@pytest.mark.parametrize("value", [2**40, 300, 1e300])
def test_factors_must_be_in_range_of_the_result_dtype(value: float) -> None:
    x, factor = interlock.ones(1, 1, dtype=interlock.int8), int(value)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("addcmul: value", lambda: interlock.addcmul(x, x, x, value=value)),
        ("addcmul_: value", lambda: x.addcmul_(x, x, value=value)),
    ]
    if factor < 2**63:
        calls += [
            ("addmm: alpha", lambda: interlock.addmm(x, x, x, alpha=factor)),
            ("addmm: beta", lambda: interlock.addmm(x, x, x, beta=factor)),
            ("addmv: alpha", lambda: interlock.addmv(x[0], x, x[0], alpha=factor)),
            ("baddbmm: beta", lambda: interlock.baddbmm(x[None], x[None], x[None], beta=factor)),
        ]
    for name, call in calls:
        with pytest.raises(ArgumentError, match=f"^{name} must be a number that int8 can hold"):
            call()
    assert x.item() == 1
    assert interlock.addcmul(x, x, x, value=2.9).item() == 3


def test_factors_of_halves_are_numbers_of_float32() -> None:
    x = target(interlock.float16)
    for operate in (interlock.addcmul, interlock.addcdiv):
        assert operate(x, x, x * 0 + 0.5, value=INF).tolist() == [INF, INF]
        with pytest.raises(ArgumentError, match="value must be a number that float32 can hold, got 1e39"):
            operate(x, x, x, value=1e39)
    assert interlock.addcmul(x, x, x * 0 + 0.5, value=100000.0).tolist() == [50016.0, 50016.0]


def test_arithmetic_with_a_number_beyond_float32_gives_infinity() -> None:
    x = target(interlock.float32)
    assert (x + 1e300).tolist() == [INF, INF]
    assert x.mul_(-1e300).tolist() == [-INF, -INF]
    assert (target(interlock.int64) * 1e300).tolist() == [INF, INF]
    assert (target(interlock.float32) < 1e39).tolist() == [True, True]


@pytest.mark.parametrize("dtype", [interlock.int64, interlock.int32, interlock.int8])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((2.5,), [0, 1, 2]),
        ((1.9, 5.9, 1.9), [1, 2, 3]),
        ((5.5, 1, -1.5), [5, 4, 3]),
        ((0.7, -2.2, -1), [0, -1, -2]),
        ((0.9, 0.1, -1), [0]),
        ((0, 5, 1.5), [0, 1, 2, 3]),
        ((0, 1, 0.25), [0, 0, 0, 0]),
        ((-1.5, 0.5, 0.5), [-1, -1, -1, -1]),
    ],
)
def test_arange_of_integers_counts_before_it_truncates(
    dtype: interlock.dtype, arguments: tuple[float, ...], expected: list[int]
) -> None:
    assert interlock.arange(*arguments, dtype=dtype).tolist() == expected
    assert interlock.arange(*arguments, out=interlock.empty(0, dtype=dtype)).tolist() == expected


def test_arange_refuses_numbers_beyond_int64_and_steps_without_end() -> None:
    for arguments, name in (((1e300, 1e300), "start"), ((0, 1e19), "end"), ((0, 5, 1e19), "step")):
        with pytest.raises(ArgumentError, match=f"arange: {name} must be a number that int64 can hold"):
            interlock.arange(*arguments, dtype=interlock.int64)
    for arguments, problem in (((2.5, 2.1), "negative"), ((0, 5, -0.0), "not be 0"), ((0, 5, INF), "finite")):
        for dtype in (interlock.int64, interlock.float32):
            with pytest.raises(ArgumentError, match=f"arange: step must .*{problem}"):
                interlock.arange(*arguments, dtype=dtype)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (1 << 40, 3)])
def test_fill_of_an_expanded_tensor_writes_its_elements(shape: tuple[int, ...]) -> None:
    base = interlock.ones(1, 1)
    for view in (base.expand(*shape), base.expand(*shape).t()):
        view.fill_(2)
        assert base.item() == 2
        view.zero_()
        assert base.item() == 0
    assert base._version == 4


def test_fill_of_an_expanded_tensor_is_recorded() -> None:
    leaf = interlock.ones(2, 1, requires_grad=True)
    base = leaf * 3
    row = base.expand(2, 3)[0]
    row.fill_(7)
    assert base.tolist() == [[7.0], [3.0]]
    (base.sum() + row.sum()).backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [[0.0], [3.0]]
    with pytest.raises(RuntimeError, match="leaf tensor that requires grad"):
        leaf.expand(2, 3).zero_()


def test_other_writes_into_an_expanded_tensor_are_refused() -> None:
    x = interlock.ones(1).expand(3)
    writes: tuple[Callable[[], object], ...] = (
        lambda: x.fill_(interlock.tensor(2.0)),
        lambda: x.add_(1),
        lambda: x.copy_(interlock.tensor(2.0)),
        lambda: x.__setitem__(slice(None), 2),
    )
    for write in writes:
        with pytest.raises(RuntimeError, match="share one memory location"):
            write()
    assert (x.tolist(), x._version) == ([1, 1, 1], 0)


def test_assigning_one_value_to_positions_of_an_expanded_tensor_fills_them() -> None:
    diagonal = interlock.tensor([[True, False, False], [False, True, False], [False, False, True]])
    for index in (diagonal, interlock.tensor([0, 1]), [2], (slice(None), [0, 1, 2])):
        for value in (7.0, interlock.tensor(7.0), interlock.tensor([[7.0]])):
            row = interlock.arange(3.0)
            x = row.expand(3, 3)
            x[index] = value
            assert row.tolist() == [7.0, 7.0, 7.0]
            assert row._version == 1
    column = interlock.arange(3.0).reshape(3, 1)
    column.expand(3, 4)[[2, 0]] = 5.0
    assert column.tolist() == [[5.0], [1.0], [5.0]]
    middle = interlock.arange(4.0).reshape(2, 1, 2)
    middle.expand(2, 3, 2)[:, [1], [0]] = 9.0
    assert middle.tolist() == [[[9.0, 1.0]], [[9.0, 3.0]]]
    mask = interlock.tensor([[True, False, False]]).expand(3, 3)
    mask[mask] = mask.sum().reshape(1, 1)
    assert mask.tolist() == [[True, False, False]] * 3


def test_assigning_no_value_to_an_expanded_tensor_changes_nothing() -> None:
    row = interlock.arange(3.0)
    x = row.expand(3, 3)
    x[interlock.zeros(3, 3, dtype=interlock.bool)] = interlock.tensor([])
    x[interlock.zeros(3, 3, dtype=interlock.bool)] = interlock.tensor([1.0])
    assert row.tolist() == [0.0, 1.0, 2.0]


def test_assigning_one_value_to_an_expanded_tensor_has_gradients() -> None:
    leaf = interlock.arange(3.0, requires_grad=True)
    value = interlock.tensor([7.0], requires_grad=True)
    weights = interlock.arange(9.0).reshape(3, 3)
    x = (leaf * 2).expand(3, 3)
    x[(slice(None), [0])] = value
    assert x.tolist() == [[7.0, 2.0, 4.0]] * 3
    (x * weights).sum().backward()
    assert leaf.grad is not None
    assert value.grad is not None
    assert leaf.grad.tolist() == [0.0, 24.0, 30.0]
    assert value.grad.tolist() == [9.0]


def test_assigning_several_values_to_one_place_is_refused() -> None:
    x = interlock.arange(3.0).expand(3, 3)
    with pytest.raises(RuntimeError, match="share one memory location"):
        x[interlock.tensor([0, 1])] = interlock.tensor([[1.0], [2.0]])
    assert x.tolist() == [[0.0, 1.0, 2.0]] * 3


def test_fill_accepts_only_a_tensor_without_dimensions() -> None:
    x = interlock.zeros(3)
    with pytest.raises(RuntimeError, match=r"a tensor of shape \(\)"):
        x.fill_(interlock.tensor([2.0]))
    assert (x.tolist(), x._version) == ([0, 0, 0], 0)
    # The elements of a tensor are converted as a cast converts them.
    wide = interlock.tensor(1e300, dtype=interlock.float64)
    assert x.fill_(wide).tolist() == [INF, INF, INF]


@pytest.mark.parametrize(
    "index",
    [
        [0, 1],
        [],
        interlock.tensor([1]),
        interlock.tensor(True),
        (True, 0),
        (interlock.tensor([True, False]), None),
    ],
)
@pytest.mark.parametrize("dtype", [interlock.float32, interlock.bool, interlock.float64])
def test_assignment_by_tensors_requires_a_tensor_of_its_dtype(index: Any, dtype: interlock.dtype) -> None:
    x = interlock.tensor([1, 2])
    for value in (interlock.ones((), dtype=dtype), interlock.ones(1, dtype=dtype)):
        if isinstance(index, tuple) and isinstance(index[0], interlock.Tensor):
            continue
        with pytest.raises(DTypeError, match=f"value must be of dtype int64 .*, got {name_of(dtype)}"):
            x[index] = value
    assert (x.tolist(), x._version) == ([1, 2], 0)
    x[[0]] = 1.5
    assert x.tolist() == [1, 2]


def test_assignment_by_a_mask_converts_a_single_element() -> None:
    x = interlock.tensor([1, 2])
    mask = interlock.tensor([True, True])
    x[mask] = interlock.tensor(3.5)
    x[mask] = interlock.tensor([4.5])
    assert x.tolist() == [4, 4]
    with pytest.raises(DTypeError, match="value must be of dtype int64"):
        x[mask] = interlock.tensor([1.5, 2.5])
    assert x.tolist() == [4, 4]


def test_assignment_by_true_writes_all_and_by_false_nothing() -> None:
    x = interlock.tensor([1, 2])
    x[True] = interlock.tensor([3.5, 4.5])
    x[False] = interlock.ones(5)
    assert x.tolist() == [3, 4]
    with pytest.raises(TypeError, match="value must be"):
        x[False] = "x"  # type: ignore[assignment]


def test_backward_through_a_change_of_an_expanded_base_is_refused() -> None:
    base = interlock.arange(3.0).expand(3, 3).detach()
    value = interlock.tensor([2.0], requires_grad=True)
    base[0, :1] = value
    with pytest.raises(RuntimeError, match=r"backward: several elements .* share one memory location"):
        base.sum().backward()
    assert value.grad is None


def test_gradient_of_values_that_are_written_to_an_expanded_base_by_index() -> None:
    base = interlock.arange(3.0).expand(3, 3).detach()
    value = interlock.tensor([2.0], requires_grad=True)
    base[:, [0]] = value
    base.sum().backward()
    assert value.grad is not None
    assert value.grad.tolist() == [3.0]


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        (interlock.int8, 128),
        (interlock.int8, 300),
        (interlock.uint8, 256),
        (interlock.int16, 2**15),
        (interlock.int32, 2**31),
    ],
    ids=str,
)
def test_pow_refuses_an_exponent_out_of_range(dtype: interlock.dtype, exponent: int) -> None:
    x = interlock.tensor([3], dtype=dtype)
    message = f"pow_?: exponent must be a number that {name_of(dtype)} can hold, got {exponent}$"
    calls: list[Callable[[], object]] = [
        lambda: x**exponent,
        lambda: x.pow(exponent),
        lambda: x.pow_(exponent),
        lambda: interlock.pow(x, exponent),
        lambda: x[:0] ** exponent,
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=message):
            call()
    assert x.tolist() == [3]


def test_pow_accepts_the_largest_exponent_and_wraps_the_result() -> None:
    assert (interlock.tensor([3], dtype=interlock.int8) ** 127).tolist() == [-85]
    assert (interlock.tensor([3], dtype=interlock.uint8) ** 255).tolist() == [171]
    assert (300 ** interlock.tensor([3], dtype=interlock.int8)).tolist() == [-64]
