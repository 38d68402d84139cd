"""How functions and methods of operations take arguments, and the errors for wrong ones."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable

import interlock
import pytest
from interlock import Tensor, dispatch

x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interlock.exp(), "exp() missing 1 required positional argument: 'input'"),
        (
            lambda: interlock.gather(x),
            "gather() missing 2 required positional arguments: 'dim' and 'index'",
        ),
        (
            lambda: interlock.addcmul(),
            "addcmul() missing 3 required positional arguments: 'input', 'tensor1', and 'tensor2'",
        ),
        (
            lambda: x.cumsum(dtype=interlock.float64),
            "Tensor.cumsum() missing 1 required positional argument: 'dim'",
        ),
        (lambda: interlock.exp(x, x), "exp() takes 1 positional argument but 2 were given"),
        (lambda: x.exp(1), "Tensor.exp() takes 0 positional arguments but 1 was given"),
        (lambda: x.sum(0, True, 1), "Tensor.sum() takes from 0 to 2 positional arguments but 3 were given"),
        (lambda: x.squeeze(0, 1), "Tensor.squeeze() takes from 0 to 1 positional arguments but 2 were given"),
        (
            lambda: x.clone().resize_(size=None),
            "resize_: size must be ints, or one tuple or list of them, got nothing",
        ),
        (lambda: interlock.zeros(), "zeros: size must be ints, or one tuple or list of them, got nothing"),
        (lambda: x.reshape(), "reshape: shape must be ints, or one tuple or list of them, got nothing"),
        (lambda: x.flip(dims=None), "flip: dims must be ints, or one tuple or list of them, got nothing"),
        (
            lambda: x.repeat(repeats=None),
            "repeat: repeats must be ints, or one tuple or list of them, got nothing",
        ),
        (
            lambda: interlock.flip(x, None),
            "flip: dims must be an int, a tuple of ints or a list of ints, got None",
        ),
        (lambda: interlock.exp(x, input=x), "exp() got multiple values for argument 'input'"),
        (lambda: x.sum(0, dim=1), "Tensor.sum() got multiple values for argument 'dim'"),
        (lambda: x.sum(0, axis=1), "sum: dim must not be passed with axis"),
        (lambda: x.sum(axis=0, dim=1), "sum: dim must not be passed with axis"),
        (lambda: x.exp(size=1), "Tensor.exp() got an unexpected keyword argument 'size'"),
        (lambda: x.exp(**{"\ud800": 1}), "Tensor.exp() got an unexpected keyword argument '\\ud800'"),
        (lambda: x.exp(**{"": 1}), "Tensor.exp() got an unexpected keyword argument ''"),
        (lambda: x.exp_(out=x), "Tensor.exp_() got an unexpected keyword argument 'out'"),
        (lambda: interlock.zeros(2, size=(2,)), "zeros: size must be passed once, got (2,) and (2,)"),
        (lambda: interlock.zeros(size=2), "zeros: size must be a tuple or list of ints, got int"),
        (lambda: interlock.relu_(3), "relu_: input must be a Tensor, got int"),
        (
            lambda: dispatch.explain("matmul", x, x, x),
            "explain: matmul() takes 2 positional arguments but 3 were given",
        ),
        (
            lambda: interlock.linalg.solve_triangular(x, x),  # type: ignore[call-arg]
            "solve_triangular() missing 1 required keyword-only argument: 'upper'",
        ),
        (
            lambda: interlock.linalg.solve_triangular(x, upper=True),  # type: ignore[call-arg]
            "solve_triangular() missing 1 required positional argument: 'B'",
        ),
        (
            lambda: interlock.linalg.solve_triangular(x, x, True),  # type: ignore[call-arg, misc]
            "solve_triangular() takes 2 positional arguments but 3 were given",
        ),
    ],
)
def test_wrong_arguments_are_reported(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == message


def test_arguments_are_passed_by_position_and_by_name() -> None:
    expected = interlock.sum(x, 1, True).tolist()
    assert interlock.sum(input=x, dim=1, keepdim=True).tolist() == expected
    assert interlock.sum(x, keepdims=True, axis=1).tolist() == expected
    assert x.sum(1, keepdim=True).tolist() == expected
    assert Tensor.sum(x, dim=1, keepdim=True).tolist() == expected
    assert interlock.sum(*[x], **{"dim": 1, "keepdim": True}).tolist() == expected
    assert interlock.zeros(2, 1).shape == interlock.zeros(size=[2, 1]).shape == interlock.zeros((2, 1)).shape
    assert x.view(size=(4,)).tolist() == x.view(4).tolist() == x.view((4,)).tolist()


def test_none_is_a_value() -> None:
    assert x.sum(None).item() == 10.0
    with pytest.raises(TypeError, match=r"^sum: keepdim must be a bool, got None$"):
        x.sum(0, None)
    with pytest.raises(TypeError, match=r"^cumsum: dim must be an int, got None$"):
        x.cumsum(None)


def test_functions_are_those_of_python() -> None:
    assert pickle.loads(pickle.dumps(interlock.add)) is interlock.add
    assert (interlock.add.__name__, interlock.add.__module__) == ("add", "interlock._core.tensor")
    assert Tensor.add.__qualname__ == "Tensor.add"
    assert (
        str(inspect.signature(interlock.sum)) == "(input, dim=None, keepdim=False, *, dtype=None, out=None)"
    )
    assert str(inspect.signature(Tensor.sum)) == "(self, /, dim=None, keepdim=False, *, dtype=None)"
    assert (interlock.add.__doc__ or "").startswith("Return `input + alpha * other`.")
    with pytest.raises(TypeError, match="doesn't apply to a 'int' object"):
        Tensor.exp(3)


def test_methods_apply_to_subclasses() -> None:
    class Own(Tensor):
        pass

    assert Own(x).sum(0).tolist() == x.sum(0).tolist()
    assert type(Own(x).exp()) is Tensor


def test_calls_leave_no_references() -> None:
    dim = 10**9
    before = sys.getrefcount(x), sys.getrefcount(dim)
    for _ in range(1_000):
        x.sum(0, keepdim=True)
        interlock.cat([x, x], dim=0)
        for call in (lambda: x.sum(dim, wrong=1), lambda: x.sum(dim), lambda: x.sum(dim, dim=dim)):
            with pytest.raises((TypeError, IndexError)):
                call()
    after = sys.getrefcount(x), sys.getrefcount(dim)
    assert all(abs(new - old) < 10 for new, old in zip(after, before, strict=True))
