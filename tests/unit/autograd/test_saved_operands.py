"""What operations save: only the operands that a needed gradient uses, and no numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd.graph import saved_tensors_hooks
from interlock.nn import functional
from interlock.nn.attention import SDPBackend, sdpa_kernel

from tools.example_calls import ROWS

NUMBERS: dict[str, Callable[[Tensor], Any]] = {
    "add": lambda x: x + 3,
    "sub": lambda x: x - 3,
    "rsub": lambda x: 3 - x,
    "mul": lambda x: x * 3,
    "rmul": lambda x: 3 * x,
    "div": lambda x: x / 3,
    "rdiv": lambda x: 3 / x,
    "pow": lambda x: x**3,
    "rpow": lambda x: 3**x,
    "remainder": lambda x: x % 3,
    "rremainder": lambda x: 3 % x,
    "fmod": lambda x: x.fmod(3),
    "where": lambda x: interlock.where(x > 0, x, 3.0),
    "clamp": lambda x: x.clamp(0.5, 3),
    "clamp_min": lambda x: x.clamp(min=0.5),
    "lerp": lambda x: x.lerp(x, 0.3),
    "copysign": lambda x: x.copysign(3.0),
    "mul_": lambda x: x.clone().mul_(3),
    "div_": lambda x: x.clone().div_(3),
    "masked_fill": lambda x: x.masked_fill(x > 0, 3.0),
    "addcmul": lambda x: x.addcmul(x, x, value=3),
    "add with alpha": lambda x: x.add(x, alpha=3),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", [interlock.float32, interlock.float64, interlock.bfloat16])
def test_hooks_do_not_pack_numbers(name: str, dtype: interlock.dtype) -> None:
    shapes: list[Any] = []
    x = interlock.ones(5, dtype=dtype, requires_grad=True)
    with saved_tensors_hooks(lambda t: (shapes.append(tuple(t.shape)), t)[1], lambda t: t):
        y = NUMBERS[name](x)
    assert set(shapes) <= {(5,)}
    y.sum().backward()
    assert x.grad is not None


def test_hooks_pack_tensors_without_dimensions() -> None:
    shapes: list[Any] = []
    x = interlock.ones(5, requires_grad=True)
    with saved_tensors_hooks(lambda t: (shapes.append(tuple(t.shape)), t)[1], lambda t: t):
        x * interlock.tensor(3.0)
    assert shapes == [()]


Operation = Callable[..., Tensor]


def attention(*operands: Tensor) -> Tensor:
    """Return the attention of one query to two keys and values of one element."""
    return functional.scaled_dot_product_attention(*(x.reshape(1, 1, 2, 1) for x in operands))


def math_attention(*operands: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return attention(*operands)


# The operation, the operand that requires grad, and the operands that its gradient does not use.
UNUSED: list[tuple[str, Operation, int, tuple[int, ...]]] = [
    ("add", lambda a, b: a + b, 0, (0, 1)),
    ("sub", lambda a, b: a - b, 1, (0, 1)),
    ("mul", lambda a, b: a * b, 0, (0,)),
    ("mul", lambda a, b: a * b, 1, (1,)),
    ("div", lambda a, b: a / b, 0, (0,)),
    ("rdiv", lambda a: 3 / a, 0, (0,)),
    ("fmod", lambda a, b: a.fmod(b), 0, (0, 1)),
    ("remainder", lambda a, b: a % b, 0, (0, 1)),
    ("copysign", lambda a, b: a.copysign(b), 1, (0, 1)),
    ("lerp", lambda a, b, c: a.lerp(b, c), 0, (0, 1)),
    ("lerp", lambda a, b, c: a.lerp(b, c), 1, (0, 1)),
    ("lerp", lambda a, b, c: a.lerp(b, c), 2, (2,)),
    ("addcmul", lambda a, b, c: a.addcmul(b, c), 0, (0, 1, 2)),
    ("addcmul", lambda a, b, c: a.addcmul(b, c), 1, (0, 1)),
    ("addcdiv", lambda a, b, c: a.addcdiv(b, c), 0, (0, 1, 2)),
    ("addcdiv", lambda a, b, c: a.addcdiv(b, c), 1, (0, 1)),
    ("where", lambda a, b: interlock.where(interlock.tensor([True, False]), a, b), 0, (0, 1)),
    ("matmul", lambda a, b: a @ b, 0, (0,)),
    ("pow with exponent 0", lambda a: a**0, 0, (0,)),
    ("layer_norm", lambda x, w, b: functional.layer_norm(x, (2,), w, b), 0, (2,)),
    ("layer_norm", lambda x, w, b: functional.layer_norm(x, (2,), w, b), 1, (1, 2)),
    ("layer_norm", lambda x, w, b: functional.layer_norm(x, (2,), w, b), 2, (0, 1, 2)),
    ("attention", lambda q, k, v: attention(q, k, v), 2, (2,)),
    ("math attention", lambda q, k, v: math_attention(q, k, v), 2, (2,)),
]


@pytest.mark.parametrize(
    ("operation", "needed", "unused"),
    [case[1:] for case in UNUSED],
    ids=[f"{name} {needed}" for name, _, needed, _ in UNUSED],
)
def test_operands_that_no_gradient_uses_may_be_changed(
    operation: Operation, needed: int, unused: tuple[int, ...]
) -> None:
    count = operation.__code__.co_argcount
    leaves = [interlock.tensor([1.5, 2.5], dtype=interlock.float64) for _ in range(count)]
    leaves[needed].requires_grad_()
    operands = [leaf.clone() for leaf in leaves]
    result = operation(*operands)
    with interlock.no_grad():
        for index in unused:
            operands[index].mul_(100)
    result.sum().backward()
    grad = leaves[needed].grad
    assert grad is not None
    expected = [leaf.detach().clone() for leaf in leaves]
    expected[needed].requires_grad_()
    operation(*expected).sum().backward()
    assert expected[needed].grad is not None
    assert grad.tolist() == expected[needed].grad.tolist()  # type: ignore[union-attr]


def test_gradients_of_a_number_divided_by_a_tensor_that_was_changed() -> None:
    x = interlock.tensor([0.5, 1e25, -2.0], requires_grad=True)
    quotient = 1e20 / x
    with interlock.no_grad():
        quotient.zero_()
        x.zero_()
    (first,) = interlock.autograd.grad(quotient.sum(), x, create_graph=True)
    assert first.tolist() == pytest.approx([-4e20, -1e-30, -2.5e19], rel=1e-6)
    (second,) = interlock.autograd.grad(first.sum(), x)
    assert second.tolist() == pytest.approx([1.6e21, 0, -2.5e19], rel=1e-6)


def test_second_gradient_of_a_power_with_exponent_1_is_0() -> None:
    x = interlock.tensor([1.5, 2.5], requires_grad=True)
    (grad,) = interlock.autograd.grad((x**1).sum(), x, create_graph=True)
    assert interlock.autograd.grad(grad.sum(), x)[0].tolist() == [0, 0]


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("operation", [lambda a, b: a.fmod(b), lambda a, b: a.copysign(b)])
def test_a_used_operand_must_not_be_changed(operation: Operation, operand: int) -> None:
    leaves = [interlock.tensor([1.5, 2.5], requires_grad=True) for _ in range(2)]
    operands = [leaf.clone() for leaf in leaves]
    result = operation(*operands)
    with interlock.no_grad():
        operands[operand].mul_(2)
    with pytest.raises(RuntimeError, match="changed in place"):
        result.sum().backward()


def name_of(tensor: Tensor) -> str:
    assert tensor.grad_fn is not None
    return str(tensor.grad_fn.name())


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("index", [interlock.tensor([0, 2]), interlock.tensor([True, False, True])])
def test_index_put_is_recorded_as_itself(index: Tensor, accumulate: bool) -> None:
    x = interlock.ones(3, requires_grad=True)
    values = interlock.tensor([5.0, 6.0], requires_grad=True)
    y = x.clone()
    copied = y.index_put((index,), values, accumulate=accumulate)
    assert name_of(copied) == "IndexPutBackward0"
    assert copied.grad_fn.next_functions[0][0] == y.grad_fn  # type: ignore[union-attr]
    y.index_put_((index,), values, accumulate=accumulate)
    assert name_of(y) == "IndexPutBackward0"
    for result in (copied, y):
        x.grad = values.grad = None
        (result * interlock.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert x.grad is not None
        assert values.grad is not None
        assert x.grad.tolist() == ([1, 2, 3] if accumulate else [0, 2, 0])
        assert values.grad.tolist() == [1, 3]


def test_assignment_through_an_index_tensor_is_recorded_as_index_put() -> None:
    y = interlock.ones(3, requires_grad=True).clone()
    y[interlock.tensor([0])] = 2.0
    assert name_of(y) == "IndexPutBackward0"
    # A part of the tensor is a view.
    z = interlock.ones(2, 3, requires_grad=True).clone()
    z[1, interlock.tensor([0])] = 2.0
    assert name_of(z) == "CopySlices"


REDUCTIONS = [
    row["name"] for row in ROWS if "keepdim" in row["signature"] and "dim: _Dims" in row["signature"]
] + ["count_nonzero"]
"""The operations of the table over several dimensions."""


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("shape", "dims"), [((), (0, -1)), ((), (0, 0)), ((2, 2), (0, -2)), ((2, 2), (1, 1))]
)
def test_reductions_refuse_repeated_dimensions(name: str, shape: Any, dims: Any) -> None:
    x = interlock.ones(shape)
    with pytest.raises(ValueError, match="dim must name each dimension once"):
        getattr(interlock, name)(x, dim=dims)


@pytest.mark.filterwarnings("ignore:(var|std)")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_accept_the_dimension_of_a_tensor_without_dimensions(name: str) -> None:
    x = interlock.ones(())
    for dims in ((0,), (-1,)):
        found = getattr(interlock, name)(x, dim=dims)
        results = found if isinstance(found, tuple) else (found,)
        assert all(result.shape == () for result in results)
