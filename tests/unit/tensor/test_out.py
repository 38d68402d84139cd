"""The argument `out` of functions that create tensors, and of functions with two results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.errors import DTypeError

CREATIONS: dict[str, Callable[..., Tensor]] = {
    "zeros": lambda **options: interlock.zeros(2, 3, **options),
    "ones": lambda **options: interlock.ones((2, 3), **options),
    "empty": lambda **options: interlock.empty(2, 3, **options),
    "full": lambda **options: interlock.full((2, 3), 7, **options),
    "eye": lambda **options: interlock.eye(2, 3, **options),
    "arange": lambda **options: interlock.arange(6, **options),
    "linspace": lambda **options: interlock.linspace(0, 5, 6, **options),
    "logspace": lambda **options: interlock.logspace(0, 5, 6, **options),
    "rand": lambda **options: interlock.rand(2, 3, **seeded(options)),
    "randn": lambda **options: interlock.randn(2, 3, **seeded(options)),
    "randint": lambda **options: interlock.randint(0, 9, (2, 3), **seeded(options)),
    "randperm": lambda **options: interlock.randperm(6, **seeded(options)),
}
"""Functions that create a tensor of six elements."""
SEQUENCES = {"arange", "linspace", "logspace"}
"""Those whose `out` keeps its shape if it has six elements."""


def seeded(options: dict[str, Any]) -> dict[str, Any]:
    """Add a generator that draws the same numbers each time, for the device of `out`, to options."""
    out = options.get("out")
    device = out.device if isinstance(out, Tensor) else "cpu"
    return {"generator": interlock.Generator(device).manual_seed(0), **options}


@pytest.fixture(params=CREATIONS)
def name(request: pytest.FixtureRequest) -> str:
    created: str = request.param
    return created


@pytest.mark.parametrize("dtype", [interlock.float32, interlock.float64, interlock.float16])
def test_out_decides_dtype_and_receives_the_elements(name: str, dtype: interlock.dtype) -> None:
    create, out = CREATIONS[name], interlock.empty(0, dtype=dtype)
    assert create(out=out) is out
    expected = create(dtype=dtype)
    assert (out.dtype, out.shape) == (dtype, expected.shape)
    if name != "empty":
        assert out.tolist() == expected.tolist()
    assert create(out=None).shape == out.shape


@pytest.mark.usefixtures("everywhere")
def test_out_keeps_its_memory(name: str) -> None:
    out = interlock.full((3, 2), -1.0).t()
    pointer, version = out.data_ptr(), out._version
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CREATIONS[name](out=out)
    assert (out.data_ptr(), out._version - version) == (pointer, 0 if name == "empty" else 1)
    assert out.shape == ((6,) if name == "randperm" else (2, 3))
    if name not in ("empty", "randperm"):
        assert out.stride() == (1, 2)
    if name != "empty" and not name.startswith("rand"):
        assert out.flatten().tolist() == CREATIONS[name](dtype=interlock.float32).flatten().tolist()


def test_out_of_another_size_is_resized(name: str) -> None:
    storage = interlock.full((10,), -1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = CREATIONS[name](out=storage[2:3])
    assert (len(caught), out.storage_offset(), out.numel()) == (int(name == "arange"), 2, 6)
    assert storage.tolist()[:2] == [-1.0, -1.0]
    if name != "empty":
        assert storage.tolist()[2:8] == out.flatten().tolist()


def test_options_must_be_those_of_out(name: str) -> None:
    create, out = CREATIONS[name], interlock.full((2, 3), -1.0, dtype=interlock.float64)
    assert create(out=out.clone(), dtype=interlock.float64, device="cpu").dtype == interlock.float64
    for dtype in (interlock.float32, interlock.int64):
        with pytest.raises(DTypeError, match=rf"^{name}: dtype must be float64, the dtype of out, got "):
            create(out=out, dtype=dtype)
    with pytest.raises(TypeError, match=rf"^{name}: out must be a Tensor or None, got int"):
        create(out=3)
    with pytest.raises(DTypeError):
        create(out=interlock.zeros(6, dtype=interlock.int64), requires_grad=True)
    assert out.tolist() == [[-1.0] * 3] * 2


def test_device_must_be_that_of_out(name: str, devices: tuple[str, ...]) -> None:
    out = interlock.full((2, 3), -1.0, device=devices[0])
    CREATIONS[name](out=out.clone(), device=devices[0])
    assert str(CREATIONS[name](out=interlock.empty(0, device=devices[0])).device) == devices[0]
    with pytest.raises(RuntimeError, match=rf"^{name}: .*cpu.*{devices[0]}"):
        CREATIONS[name](out=out, device="cpu")
    assert out.cpu().tolist() == [[-1.0] * 3] * 2


def test_out_may_require_grad_afterwards(name: str) -> None:
    out = CREATIONS[name](out=interlock.empty(0), requires_grad=True)
    assert (out.requires_grad, out.is_leaf) == (True, True)
    before = out.tolist()
    with pytest.raises(RuntimeError, match="out must not be passed if a tensor requires grad"):
        CREATIONS[name](out=out)
    assert out.tolist() == before


def test_out_must_not_be_an_expanded_or_inference_tensor(name: str) -> None:
    with pytest.raises(RuntimeError):
        CREATIONS[name](out=interlock.zeros(1).expand(2, 3))
    with interlock.inference_mode():
        inferred = interlock.zeros(2, 3)
    with pytest.raises(RuntimeError, match="out must not be an inference tensor"):
        CREATIONS[name](out=inferred)
    assert inferred.tolist() == [[0.0] * 3] * 2


def test_numbers_are_converted_to_the_dtype_of_out() -> None:
    ints = interlock.empty(0, dtype=interlock.int64)
    expected = interlock.arange(0.5, 3, dtype=interlock.int64)
    assert interlock.arange(0.5, 3, out=ints).tolist() == expected.tolist()
    assert interlock.full((2,), True, out=interlock.empty(0)).tolist() == [1.0, 1.0]
    for create in (interlock.rand, interlock.randn):
        with pytest.raises(DTypeError):
            create(2, out=ints)


TWO: dict[str, Callable[..., Any]] = {
    "max": lambda x, **out: interlock.max(x, 1, **out),
    "min": lambda x, **out: interlock.min(x, 1, **out),
    "median": lambda x, **out: interlock.median(x, 1, **out),
    "sort": lambda x, **out: interlock.sort(x, 1, **out),
    "topk": lambda x, **out: interlock.topk(x, 2, **out),
    "aminmax": lambda x, **out: interlock.aminmax(x, dim=1, **out),
}


def outs(function: str) -> list[Tensor]:
    """Return two tensors without elements for the results of a function."""
    second = interlock.float32 if function == "aminmax" else interlock.int64
    return [interlock.empty(0), interlock.empty(0, dtype=second)]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("function", TWO)
def test_two_results_are_written_to_out(function: str) -> None:
    x = interlock.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    expected, given = TWO[function](x), outs(function)
    result = TWO[function](x, out=given)
    assert (result[0] is given[0], result[1] is given[1]) == (True, True)
    assert [out.tolist() for out in given] == [each.tolist() for each in expected]
    assert [out._version for out in given] == [1, 1]


@pytest.mark.parametrize("function", TWO)
def test_two_results_with_a_wrong_out_change_nothing(function: str) -> None:
    x = interlock.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    recorded = x.clone().requires_grad_()
    first, second = outs(function)
    shared = interlock.zeros(6)
    other = shared[1:] if function == "aminmax" else shared[1:].view(interlock.int32)
    for given, operand, error in (
        ([first, second], recorded, RuntimeError),
        ([first.requires_grad_(), second], x, RuntimeError),
        ([interlock.zeros(1).expand(2), second], x, RuntimeError),
        (iter([first, second]), x, TypeError),
        ([None, None], x, TypeError),
    ):
        with pytest.raises(error, match=f"^{function}: "):
            TWO[function](operand, out=given)
    for both in ([shared[:5], other], [second, second]):
        with pytest.raises(
            RuntimeError, match=r"share no memory, got the same memory in out\[0\] and out\[1\]$"
        ):
            TWO[function](x, out=both)
    assert (first.shape, second.shape, shared.tolist()) == ((0,), (0,), [0.0] * 6)


@pytest.mark.parametrize("function", TWO)
def test_two_results_resize_out_with_warnings(function: str) -> None:
    x = interlock.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    given = [interlock.zeros(9, dtype=out.dtype) for out in outs(function)]
    with pytest.warns(UserWarning, match=f"{function}: out had the shape") as caught:
        TWO[function](x, out=given)
    assert len(caught) == 2
    assert [out.shape for out in given] == [each.shape for each in TWO[function](x)]


def test_values_may_be_written_to_the_operand() -> None:
    x = interlock.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    interlock.sort(x, 1, out=(x, interlock.empty(0, dtype=interlock.int64)))
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    interlock.max(x, 1, out=(x[:, 0], interlock.empty(0, dtype=interlock.int64)))
    assert x.tolist() == [[3.0, 2.0, 3.0], [6.0, 5.0, 6.0]]


def test_number_of_tensors_is_that_of_the_results() -> None:
    x = interlock.tensor([[3.0, 1.0], [5.0, 6.0]])
    one, two = interlock.empty(0), [interlock.empty(0), interlock.empty(0, dtype=interlock.int64)]
    assert interlock.max(x, out=one) is one
    assert one.item() == 6.0
    assert interlock.min(x, x + 1, out=one.resize_(0)).tolist() == x.tolist()
    wide = interlock.empty(0, dtype=interlock.float64)
    assert interlock.max(x, out=wide).item() == 6.0
    for call in (lambda: interlock.max(x, 1, out=one), lambda: interlock.sort(x, out=one)):  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="out must be a tuple or list of two Tensors"):
            call()
    with pytest.raises(TypeError, match="max: out must be one Tensor"):
        interlock.max(x, out=two)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="nonzero: out must be None for a result that is a tuple"):
        interlock.nonzero(x, as_tuple=True, out=two[1])  # type: ignore[call-overload]
    assert interlock.nonzero(x, out=two[1]).tolist() == x.nonzero().tolist()
    with pytest.raises(DTypeError):
        interlock.nonzero(x, out=one)


@pytest.mark.parametrize("name", ["gelu", "linear", "logsigmoid", "softplus"])
def test_functions_of_networks_write_to_out(name: str) -> None:
    function = getattr(interlock.nn.functional, name)
    x = interlock.tensor([[-1.0, 0.5], [2.0, -3.0]])
    others = (interlock.ones(2, 2),) if name == "linear" else ()
    expected, out = function(x, *others), interlock.empty(0)
    assert function(x, *others, out=out) is out
    assert interlock.equal(out, expected)
    with pytest.raises(interlock.errors.DTypeError, match=f"^{name}: "):
        function(x, *others, out=interlock.empty(0, dtype=interlock.float64))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", ["gt", "logical_and", "signbit", "any", "argmax", "nonzero"])
def test_out_of_operations_without_a_gradient_ignores_requires_grad(name: str) -> None:
    x, function = interlock.tensor([0.0, 1.0, 2.0]), getattr(interlock, name)
    operands = (x, x) if name in {"gt", "logical_and"} else (x,)
    expected = function(*operands)
    out = interlock.empty(0, dtype=expected.dtype)
    assert function(*(operand.clone().requires_grad_() for operand in operands), out=out) is out
    assert out.tolist() == expected.tolist()


def test_out_of_operations_with_a_gradient_refuses_requires_grad() -> None:
    x, out = interlock.ones(2, requires_grad=True), interlock.zeros(2)
    for call in (
        lambda: interlock.add(x, 1, out=out),
        lambda: interlock.sum(x, out=out),
        lambda: interlock.max(x, 0, out=(out, interlock.empty(0, dtype=interlock.int64))),
    ):
        with pytest.raises(RuntimeError, match="out must not be passed if a tensor requires grad"):
            call()
    assert (out.tolist(), out._version) == ([0.0, 0.0], 0)
    with pytest.raises(DTypeError, match="bitwise_and: the promoted dtype must be"):
        interlock.bitwise_and(x, x, out=out)
