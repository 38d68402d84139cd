"""`gradcheck` and `gradgradcheck`, and the gradients of every differentiable operation."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import Tensor, float64
from interlock._core.tensor import multi_head_attention
from interlock.autograd import gradcheck, gradgradcheck
from interlock.errors import ArgumentError, DTypeError, GradcheckError

from tools.example_calls import Example, examples, operands

PAGE = Path(__file__).parents[3] / "docs" / "tensor_operations.md"


def leaf(*shape: int) -> Tensor:
    """Return different numbers from 0.5 to 1.5."""
    count = 1
    for size in shape:
        count *= size
    values = [0.5 + (position * 0.6180339887) % 1 for position in range(count)]
    return interlock.tensor(values, dtype=float64).reshape(shape).requires_grad_()


def assigned(x: Tensor, y: Tensor) -> Tensor:
    copy = x.clone()
    copy[0] = y
    return copy


def heads(x: Tensor, weight: Tensor, out_weight: Tensor) -> Tensor:
    result: Tensor = multi_head_attention(
        x, x, x, 1, weight, None, out_weight, None, training=True, batch_first=True
    )[0]
    return result


X, Y = (2, 3), (3,)


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "einsum": (lambda x, y: interlock.einsum("ij,kj->ik", x, y), (X, (4, 3))),
    "MultiheadAttention": (heads, ((3, 1, 2), (6, 2), (2, 2))),
    "T": (lambda x: x.T * x.T, (X,)),
    "mT": (lambda x: x.mT**2, (X,)),
    "mH": (lambda x: x.mH**2, (X,)),
    "H": (lambda x: x.H**2, (X,)),
    "broadcast_tensors": (lambda x, y: interlock.broadcast_tensors(x, y)[1] ** 2 * x, (X, Y)),
    "atleast_1d": (lambda x: interlock.atleast_1d(x) ** 2, ((),)),
    "atleast_2d": (lambda x: interlock.atleast_2d(x) ** 2, (Y,)),
    "atleast_3d": (lambda x: interlock.atleast_3d(x) ** 2, (X,)),
    "x[index]": (lambda x: x[[1, 0, 1], 1:] ** 2, (X,)),
    "x[index] = value": (lambda x, y: assigned(x, y) ** 2, (X, Y)),
    "to": (lambda x: x.to(float64, copy=True) ** 2, (X,)),
    "contiguous": (lambda x: x.t().contiguous() ** 2, (X,)),
}
"""A function with each differentiable operation, and the shapes of its arguments."""

NOT_FLOAT64 = {"float", "half", "bfloat16", "pin_memory"}
"""Conversions to types whose finite differences are not precise, and one that needs a device."""

NO_GRADIENT = {"floor_divide", "floor_divide_", "positive"}
"""Operations whose result cannot be differentiated, and one that returns its input."""


def of_leaves(example: Example) -> tuple[Callable[..., Any], list[Tensor]] | None:
    """Return an example as a function of leaves, with them; None if its result is not differentiable."""
    run, names = example.function(), operands(float64, requires_grad=True)
    used = example.called()

    def function(*leaves: Tensor) -> Any:
        results = run(names | dict(zip(used, leaves, strict=True)))
        results = results if isinstance(results, tuple) else (results,)
        # The square has a second gradient.
        return tuple(result**2 for result in results if isinstance(result, Tensor) and result.requires_grad)

    leaves = [names[name] for name in used]
    try:
        return (function, leaves) if leaves and function(*leaves) else None
    except DTypeError:
        return None


DIFFERENTIABLE = {
    f"{example.name}({example.arguments})": case
    for example in (*examples(), *examples("inplace"))
    if example.name not in NO_GRADIENT | NOT_FLOAT64 and (case := of_leaves(example)) is not None
}
"""The examples of the table of operations whose results have gradients."""


def differentiable_operations() -> set[str]:
    """Return the operations that docs/tensor_operations.md lists with a gradient."""
    found = set()
    for row in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 6 and cells[3] == "yes":
            name = re.match(r"`(?:x\.|interlock\.(?:\w+\.)*)?(\w+)(?:\(|`)|`(x\[index\][^`]*)`", cells[1])
            assert name, row
            found.add(name.group(1) or name.group(2))
    return found


def test_every_differentiable_operation_has_a_case() -> None:
    in_table = {name.partition("(")[0] for name in DIFFERENTIABLE}
    assert differentiable_operations() - NOT_FLOAT64 - NO_GRADIENT - in_table == set(CASES) - in_table


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_an_example_agree_with_finite_differences(name: str) -> None:
    function, leaves = DIFFERENTIABLE[name]
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves, gen_non_contig_grad_outputs=True)
    assert all(each.grad is None for each in leaves)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_an_operation_agree_with_finite_differences(name: str) -> None:
    function, shapes = CASES[name]
    leaves = [leaf(*shape) for shape in shapes]
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves, gen_non_contig_grad_outputs=True)
    assert all(each.grad is None for each in leaves)


class Wrong(interlock.autograd.Function):
    """A function with a wrong gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 3


def test_gradcheck_finds_a_wrong_gradient() -> None:
    with pytest.raises(
        GradcheckError, match=r"output 0 with respect to input 0 must agree(.|\n)*backward: \[\[3.0"
    ):
        gradcheck(Wrong.apply, leaf(1))
    assert not gradcheck(Wrong.apply, leaf(1), raise_exception=False)
    assert gradcheck(Wrong.apply, leaf(1), atol=2.0)


def test_gradcheck_finds_a_missing_gradient() -> None:
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x.detach() * 2, leaf(1))
    with pytest.raises(GradcheckError, match="output 1 with respect to input 1"):
        gradcheck(lambda x, y: (x * y, x * y.detach()), (leaf(2), leaf(2)))


def test_gradcheck_finds_gradients_that_differ_from_pass_to_pass() -> None:
    calls: list[int] = []

    class Varying(Wrong):
        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            calls.append(1)
            return grad * (2 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="differ by more than nondet_tol"):
        gradcheck(Varying.apply, leaf(1))
    calls.clear()
    assert gradcheck(Varying.apply, leaf(1), nondet_tol=1e-5)


def test_gradgradcheck_finds_a_wrong_second_gradient() -> None:
    class Cube(interlock.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x.detach()

    assert gradcheck(Cube.apply, leaf(2))
    with pytest.raises(GradcheckError):
        gradgradcheck(Cube.apply, leaf(2))
    assert gradgradcheck(lambda x: x**3, leaf(2), interlock.ones(2, dtype=float64, requires_grad=True))


class NanGradient(interlock.autograd.Function):
    """The identity, whose gradient is NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * float("nan")


class NanSecondGradient(interlock.autograd.Function):
    """The square, whose second gradient is NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return NanGradient.apply(grad * 2 * x)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("check", "function"),
    [(gradcheck, NanGradient), (gradgradcheck, NanSecondGradient)],
    ids=["first", "second"],
)
def test_gradients_that_are_nan_are_named(check: Any, function: Any) -> None:
    message = rf"^{check.__name__}: the gradient of .* must not be nan\n(.|\n)*backward: (.|\n)*nan"
    with pytest.raises(GradcheckError, match=message):
        check(function.apply, leaf(2))
    assert not check(function.apply, leaf(2), raise_exception=False)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_finite_differences_that_are_nan_are_named(check: Any) -> None:
    x = interlock.tensor([0.0, 1.0], dtype=float64, requires_grad=True)
    for function in (
        lambda x: x.log(),
        lambda x: x * x * interlock.tensor([1.0, float("nan")], dtype=float64),
    ):
        with pytest.raises(
            GradcheckError, match=rf"^{check.__name__}: the finite differences of .* not be nan"
        ):
            check(function, x)


def test_gradcheck_refuses_a_finite_gradient_of_an_infinite_difference() -> None:
    def step(x: Tensor) -> Tensor:
        return x * 1 + interlock.where(x.detach() > 1, float("inf"), 0.0)

    x = interlock.tensor([1.0], dtype=float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"must agree with finite differences\n(.|\n)*\[\[inf\]\]"):
        gradcheck(step, x)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize(
    ("other", "got"),
    [
        (lambda x: (x * x)[:1], r"interlock.float64 of shape \(1,\)"),
        (lambda x: (x * x).to(interlock.float32), r"interlock.float32 of shape \(2,\)"),
        (lambda x: (x * x, x * x), r"interlock.float64 of shape \(2,\), interlock.float64 of shape \(2,\)"),
        (lambda x: x.to(interlock.int64), "none"),
    ],
    ids=["shape", "dtype", "number", "no float"],
)
def test_outputs_that_change_from_call_to_call_are_named(check: Any, other: Any, got: str) -> None:
    calls = itertools.count(1)

    def function(x: Tensor) -> Any:
        return x * x if next(calls) % 2 else other(x)

    expected = (
        f"^{check.__name__}: func must return floating-point outputs of the same number, shapes and dtypes "
        rf"in each call, got {got} after interlock.float64 of shape \(2,\)$"
    )
    with pytest.raises(GradcheckError, match=expected):
        check(function, leaf(2))
    assert not check(function, leaf(2), raise_exception=False)


def test_gradgradcheck_refuses_outputs_and_gradients_that_it_cannot_check() -> None:
    with pytest.raises(ArgumentError, match=r"^gradgradcheck: func must return a tensor that requires grad"):
        gradgradcheck(lambda x: x.detach(), leaf(1))
    with pytest.raises(
        ArgumentError, match=r"^gradgradcheck: grad_outputs must have one gradient .* \(1\), got 2$"
    ):
        gradgradcheck(lambda x: x * x, leaf(1), (leaf(1), leaf(1)))


def test_gradcheck_restores_its_inputs() -> None:
    x = leaf(2, 2)
    before = x.tolist()
    gradcheck(lambda x: (x * x, x.exp()), x)
    assert x.tolist() == before
    strided = leaf(3, 2).detach().t().requires_grad_()
    before = strided.tolist()
    assert gradcheck(lambda x: x * x, strided)
    assert strided.tolist() == before


def test_gradcheck_accepts_numbers_and_empty_inputs() -> None:
    assert gradcheck(lambda x, k: x * k, (leaf(2), 3.0))  # type: ignore[arg-type]
    assert gradcheck(lambda x: x * 2, leaf(0))
    assert gradcheck(lambda x: x * x, leaf())


def test_gradcheck_checks_the_dtypes_of_gradients() -> None:
    assert gradcheck(lambda x: x * 2, leaf(2), check_grad_dtypes=True)


def test_gradcheck_refuses_inputs_that_it_cannot_check() -> None:
    with pytest.raises(ArgumentError, match="inputs must contain a tensor that requires grad, got none"):
        gradcheck(lambda x: x, interlock.ones(1))
    expanded = interlock.ones(1, dtype=float64).expand(3).requires_grad_()
    with pytest.raises(ArgumentError, match="input 0 must not be expanded"):
        gradcheck(lambda x: x, expanded)
    with pytest.warns(UserWarning, match="input 0 has dtype .*float32"), pytest.raises(GradcheckError):
        gradcheck(lambda x: x.exp(), interlock.ones(2, requires_grad=True))


@pytest.mark.parametrize(
    "option", ["check_batched_grad", "check_batched_forward_grad", "check_forward_ad", "fast_mode", "masked"]
)
def test_gradcheck_refuses_options_without_effect(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"gradcheck: {option} must be False"):
        gradcheck(lambda x: x, leaf(1), **{option: True})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gradcheck: check_backward_ad must be True"):
        gradcheck(lambda x: x, leaf(1), check_backward_ad=False)


@pytest.mark.parametrize("option", ["check_batched_grad", "check_fwd_over_rev", "fast_mode", "masked"])
def test_gradgradcheck_refuses_options_without_effect(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"gradgradcheck: {option} must be False"):
        gradgradcheck(lambda x: x, leaf(1), **{option: True})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gradgradcheck: check_rev_over_rev must be True"):
        gradgradcheck(lambda x: x, leaf(1), check_rev_over_rev=False)


@pytest.mark.parametrize("function", [gradcheck, gradgradcheck])
def test_wrong_arguments_are_named(function: Any) -> None:
    name = function.__name__
    wrong: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
        (3, leaf(1), {}, TypeError, "func must be callable, got int"),
        (abs, 3, {}, TypeError, "inputs must be a Tensor or a sequence of Tensors, got int"),
        (abs, leaf(1), {"eps": "a"}, TypeError, "eps must be a float, got str"),
        (abs, leaf(1), {"eps": 0.0}, ArgumentError, "eps must be finite and not 0, got 0.0"),
        (abs, leaf(1), {"atol": -1.0}, ArgumentError, "atol must not be negative, got -1.0"),
        (abs, leaf(1), {"rtol": None}, TypeError, "rtol must be a float, got NoneType"),
        (abs, leaf(1), {"raise_exception": 1}, TypeError, "raise_exception must be a bool, got int"),
        (
            lambda x: 3,
            leaf(1),
            {},
            TypeError,
            "the result of func must be a Tensor or a sequence of Tensors, got int",
        ),
        (lambda x: [x, 3], leaf(1), {}, TypeError, "func must return Tensors, got int"),
    ]
    for func, inputs, options, error, message in wrong:
        with pytest.raises(error) as raised:
            function(func, inputs, **options)
        assert str(raised.value) == f"{name}: {message}"
