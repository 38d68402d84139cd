"""`axis` and `keepdims`, the names that NumPy has for `dim` and `keepdim`."""

from __future__ import annotations

import inspect
from typing import Any

import interlock
import pytest
from interlock import Tensor, float32

from tools.example_calls import Example, examples, operands

NUMPY = {"dim": "axis", "keepdim": "keepdims"}


def by_name(example: Example) -> tuple[Any, dict[str, Any]]:
    """Return the function of an example, or the method of a new tensor, and its arguments by name."""
    names = operands(float32)
    args, keywords = eval(f"(lambda *args, **keywords: (args, keywords))({example.arguments})", names)
    function = example.owner(args[0])
    if example.form != "function":
        args = args[1:]
    return function, dict(inspect.signature(function).bind(*args, **keywords).arguments)


# The functions of `nn.functional` are written in Python, and have PyTorch's names only.
CASES = {
    f"{example.form} {example.name}({example.arguments})": example
    for form in ("function", "method", "inplace")
    for example in examples(form)
    if example.namespace == "interlock" and by_name(example)[1].keys() & NUMPY.keys()
}


def shown(result: object) -> object:
    """Return a result in a form that can be compared."""
    if isinstance(result, Tensor):
        return result.tolist()
    return [shown(each) for each in result] if isinstance(result, tuple) else result


def test_operations_along_dimensions_are_among_the_cases() -> None:
    names = {case.split()[1].partition("(")[0] for case in CASES}
    assert {"sum", "amax", "cumsum", "sort", "gather", "index_add", "index_add_", "softmax"} <= names


@pytest.mark.parametrize("case", CASES)
def test_numpy_names_are_accepted(case: str) -> None:
    function, arguments = by_name(CASES[case])
    expected = shown(function(**arguments))
    function, arguments = by_name(CASES[case])
    renamed = {NUMPY.get(name, name): value for name, value in arguments.items()}
    assert shown(function(**renamed)) == expected


def test_keepdims_keeps_dimensions() -> None:
    x = interlock.ones(2, 3)
    assert x.sum(axis=1, keepdims=True).shape == (2, 1)  # type: ignore[call-arg]
    assert interlock.amax(x, axis=(0, 1)).shape == ()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("interlock.sum(x, 0, axis=1)", "sum: dim must not be passed with axis"),
        ("x.sum(dim=0, axis=1)", "sum: dim must not be passed with axis"),
        ("x.sum(axes=1)", "Tensor.sum() got an unexpected keyword argument 'axes'"),
        ("interlock.sum(x, axes=1)", "sum() got an unexpected keyword argument 'axes'"),
        ("x.cumsum()", "Tensor.cumsum() missing 1 required positional argument: 'dim'"),
        ("x.gather()", "Tensor.gather() missing 2 required positional arguments: 'dim' and 'index'"),
        ("x.gather(axis=0)", "Tensor.gather() missing 1 required positional argument: 'index'"),
        ("x.sum(axis='a')", "sum: dim must be an int, a tuple of ints, a list of ints or None, got str"),
        ("x.sum(keepdims=1.5)", "sum: keepdim must be a bool, got float"),
    ],
)
def test_wrong_names_are_refused(call: str, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        eval(call, {"interlock": interlock, "x": interlock.ones(2, 3)})
    assert str(caught.value) == message
