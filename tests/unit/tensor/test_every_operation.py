"""Every operation of the table: its result does not depend on layouts, and 16-bit floats are rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import QuantizedTensor, Tensor, bfloat16, float16, float32, float64
from interlock.errors import DTypeError, InterlockError

from tools.example_calls import FLOATS, ROWS, Example, examples, operands

EXAMPLES = {
    f"{example.form} {example.name}({example.arguments})": example
    for example in (*examples(), *examples("inplace"))
}


def transposed(x: Tensor) -> Tensor:
    """Return the elements with the strides of the transposed shape."""
    return x.permute(*reversed(range(x.ndim))).contiguous().permute(*reversed(range(x.ndim)))


def with_gaps(x: Tensor) -> Tensor:
    """Return the elements with others between them."""
    return interlock.stack([x, x + 1], x.ndim).select(-1, 0)


def shifted(x: Tensor) -> Tensor:
    """Return the elements behind others in memory."""
    return interlock.cat([x.new_zeros(3), x.flatten()])[3:].reshape(x.shape)


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": transposed,
    "with gaps": with_gaps,
    "shifted": shifted,
}
# Their results are those of memory, whose elements may be uninitialized, or follow its order.
OF_MEMORY = {
    "as_strided",
    "view",
    "view_as",
    "resize_",
    "resize_as_",
    "from_numpy",
    "empty",
    "empty_like",
    "empty_strided",
}
OF_MEMORY |= {"new_empty", "rand_like", "randn_like", "randint_like"}


def shown(result: object) -> object:
    """Return a result in a form that can be compared: sums in another order differ in the last digits."""
    if isinstance(result, Tensor):
        return result.dtype, rows(result.tolist())
    if isinstance(result, QuantizedTensor):
        return plain(result)
    return [shown(each) for each in result] if isinstance(result, tuple | list) else result


def rows(elements: Any) -> Any:
    """Return a number or nested lists, whose numbers are compared approximately."""
    if isinstance(elements, list) and elements and isinstance(elements[0], list):
        return [rows(each) for each in elements]
    return pytest.approx(elements, rel=1e-12, abs=1e-13)


def plain(result: object) -> object:
    """Return a result as dtypes and lists."""
    if isinstance(result, Tensor):
        return result.dtype, result.tolist()
    if isinstance(result, QuantizedTensor):
        return result.dtype, result.int_repr().tolist()
    return [plain(each) for each in result] if isinstance(result, tuple | list) else result


def outcome(example: Example, names: dict[str, Any], form: Callable[[object], object]) -> object:
    """Return the result of an example in a form, or the type of its error."""
    try:
        return form(example.function()(names))
    except (InterlockError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("name", [name for name, each in EXAMPLES.items() if each.name not in OF_MEMORY])
def test_results_do_not_depend_on_the_layout_of_operands(name: str) -> None:
    example = EXAMPLES[name]
    has_result = False
    for dtype in (float32,) if example.family == "quantized" else (float64, interlock.int32):
        names = operands(dtype)
        expected = outcome(example, names, shown)
        has_result |= not isinstance(expected, type)
        for layout, change in LAYOUTS.items():
            changed = {operand: change(names[operand]) for operand in FLOATS}
            assert outcome(example, names | changed, plain) == expected, layout
    assert has_result, "the example fails for each dtype"


HAVE_OUT = {row["name"] for row in ROWS if "out" in row["forms"].split()}
"""The names of the operations whose function has the argument `out`."""


def check_two_results(run: Callable[..., Any], names: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """Check that two tensors receive the results of an operation, or none if one of them cannot."""
    outs = [interlock.zeros_like(each) for each in expected]
    for given in (outs, tuple(interlock.empty(0, dtype=each.dtype) for each in expected)):
        result = run(names, out=given)
        assert type(result) is type(expected)
        assert result[0] is given[0]
        assert result[1] is given[1]
        assert plain(given) == plain(list(expected))
    for position in (0, 1):
        outs = [interlock.zeros_like(each) for each in expected]
        outs[position] = outs[position].to(interlock.int8)
        with pytest.raises(DTypeError, match=rf"out\[{position}\] must be"):
            run(names, out=outs)
        assert not any(out.any() for out in outs)
    for wrong in (outs[0], outs[:1], [*outs, outs[0]], (1, 2), 3):
        with pytest.raises(TypeError, match="out must be"):
            run(names, out=wrong)


@pytest.mark.parametrize(
    "example", [each for each in examples("function") if each.name in HAVE_OUT], ids=Example.expression
)
def test_out_receives_the_result(example: Example) -> None:
    run, dtype = example.function(), float64
    try:
        expected = run(operands(dtype))
    except (InterlockError, RuntimeError):
        dtype = interlock.int32
        expected = run(operands(dtype))
    names = operands(dtype)
    if isinstance(expected, tuple):
        check_two_results(run, names, expected)
        return
    for out in (interlock.empty(0, dtype=expected.dtype), interlock.zeros_like(expected)):
        assert run(names, out=out) is out
        assert plain(out) == plain(expected)
    unchanged = interlock.zeros_like(expected, dtype=interlock.bool)
    if expected.dtype != interlock.bool:
        with pytest.raises((DTypeError, RuntimeError)):
            run(names, out=unchanged)
    assert not unchanged.any()
    if dtype.is_floating_point and example.called():
        check_out_of_recorded(run, expected)


def check_out_of_recorded(run: Callable[..., Any], expected: Tensor) -> None:
    """Check that `out` is refused for an operation that is recorded, and written by others."""
    out = interlock.zeros_like(expected)
    if not run(operands(float64, requires_grad=True)).requires_grad:
        assert plain(run(operands(float64, requires_grad=True), out=out)) == plain(expected)
        return
    with pytest.raises(RuntimeError, match=r"out must not be passed if a tensor requires grad"):
        run(operands(float64, requires_grad=True), out=out)
    assert not out.any()


def numbers(result: object) -> list[float]:
    """Return the elements of all floating-point tensors of a result."""
    if isinstance(result, Tensor):
        return result.double().flatten().tolist() if result.is_floating_point() else []
    return [number for each in result for number in numbers(each)] if isinstance(result, tuple) else []


# The numbers of another dtype are others.
RANDOM = {
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "bernoulli",
    "bernoulli_",
    "normal_",
    "uniform_",
    "dropout",
}
# Steps, of which a rounded operand may take another one, and the difference of nearly equal numbers.
UNSTEADY = {
    "ceil",
    "ceil_",
    "floor_divide",
    "floor_divide_",
    "fmod",
    "fmod_",
    "remainder",
    "remainder_",
    "round",
}
UNSTEADY |= {
    "round_",
    "floor",
    "floor_",
    "trunc",
    "trunc_",
    "frac",
    "frac_",
    "relu",
    "relu_",
    "std_mean",
    "sign",
}


def halved(dtype: interlock.dtype) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return operands of a 16-bit dtype, and the same numbers as float32."""
    halves = operands(dtype)
    return halves, operands(float32) | {operand: halves[operand].float() for operand in FLOATS}


ARITHMETIC = [
    name
    for name, example in EXAMPLES.items()
    if example.name not in RANDOM | UNSTEADY | OF_MEMORY
    # As in PyTorch, they have no 16-bit floats.
    and not example.family.startswith(("linalg", "quantized"))
    and isinstance(outcome(example, halved(float16)[1], numbers), list)
]


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_halves_are_rounded_results_of_float32(name: str, dtype: interlock.dtype) -> None:
    function, (halves, wide) = EXAMPLES[name].function(), halved(dtype)
    found, exact = numbers(function(halves)), numbers(function(wide))
    # Sums of several roundings, in units of the precision near the largest number.
    eps = 2.0**-10 if dtype == float16 else 2.0**-7
    scale = max((abs(number) for number in exact), default=0.0)
    assert found == pytest.approx(exact, rel=8 * eps, abs=4 * eps * scale)
