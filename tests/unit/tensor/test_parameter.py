"""`nn.Parameter`, subclasses of `Tensor`, and the attributes of leaves."""

from __future__ import annotations

import copy
import pickle

import interlock
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, DTypeError, UnsupportedError
from interlock.nn import Parameter


def test_parameter_is_a_tensor_that_requires_grad() -> None:
    data = interlock.ones(2)
    weight = Parameter(data)
    assert isinstance(weight, Parameter)
    assert isinstance(weight, Tensor)
    assert (weight.requires_grad, weight.is_leaf, data.requires_grad) == (True, True, False)
    assert weight.data_ptr() == data.data_ptr()
    assert repr(weight) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert Parameter().shape == (0,)
    assert not Parameter(interlock.zeros(2, dtype=interlock.int64), requires_grad=False).requires_grad


def test_parameter_is_trained() -> None:
    weight = Parameter(interlock.tensor([1.0, 2.0]))
    result = weight * 3
    assert type(result) is Tensor
    result.sum().backward()
    assert weight.grad is not None
    with interlock.no_grad():
        weight -= 0.5 * weight.grad
    assert isinstance(weight, Parameter)
    assert weight.tolist() == [-0.5, 0.5]
    assert result.grad_fn is not None
    accumulate = result.grad_fn.next_functions[0][0]
    assert accumulate is not None
    assert accumulate.variable is weight


def test_parameter_has_no_history_of_its_data() -> None:
    source = interlock.ones(2, requires_grad=True) * 2
    weight = Parameter(source)
    weight.sum().backward()
    assert weight.is_leaf
    assert weight.grad is not None


def test_parameter_keeps_its_class_in_copies_and_pickles() -> None:
    weight = Parameter(interlock.ones(2), requires_grad=False)
    for made in (copy.copy(weight), copy.deepcopy(weight), pickle.loads(pickle.dumps(weight))):
        assert type(made) is Parameter
        assert (made.tolist(), made.requires_grad) == ([1.0, 1.0], False)
    tied = copy.deepcopy([weight, weight])
    assert tied[0] is tied[1]
    assert tied[0].data_ptr() != weight.data_ptr()
    assert copy.copy(weight).data_ptr() == weight.data_ptr()


def test_parameter_refuses_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="Parameter: data must be a Tensor or None, got list"):
        Parameter([1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Parameter: requires_grad must be a bool, got int"):
        Parameter(interlock.ones(1), 1)  # type: ignore[arg-type]
    with pytest.raises(DTypeError):
        Parameter(interlock.zeros(2, dtype=interlock.int64))


def test_subclass_of_tensor_has_attributes() -> None:
    class Named(Tensor):
        name: str

    named = Named(interlock.ones(2))
    named.name = "weight"
    assert (named.name, named.tolist(), type(named + 1)) == ("weight", [1.0, 1.0], Tensor)
    with pytest.raises(TypeError, match="must be a Tensor, got list"):
        Tensor([1.0])  # type: ignore[arg-type]


def test_data_shares_memory_without_history() -> None:
    x = interlock.ones(2, requires_grad=True)
    x.data.mul_(3)
    assert (x.tolist(), x.data.requires_grad, (x * 2).data.grad_fn) == ([3.0, 3.0], False, None)


def test_data_has_a_version_of_its_own() -> None:
    x = interlock.ones(2, requires_grad=True)
    y = x * x
    data = x.data
    data[:1].add_(1)
    assert (x._version, data._version, x.data._version) == (0, 1, 0)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 2.0]
    y = x * x
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="was changed in place"):
        y.sum().backward()


def test_data_accepts_the_result_of_an_augmented_assignment_only() -> None:
    x = interlock.ones(2, requires_grad=True)
    x.data += 1
    x.data = x.data
    assert (x.tolist(), x.requires_grad, x._version) == ([2.0, 2.0], True, 0)
    for other in (interlock.ones(2), x.data[:1], x.data.view(interlock.int32)):
        with pytest.raises(UnsupportedError, match=r"use tensor\.copy_\(other\) in no_grad\(\)"):
            x.data = other
    with pytest.raises(TypeError, match="must be a Tensor, got float"):
        x.data = 1.0  # type: ignore[assignment]


def test_data_of_an_inference_tensor_has_no_version() -> None:
    with interlock.inference_mode():
        x = interlock.ones(2)
    assert x.data.is_inference()
    with pytest.raises(RuntimeError):
        _ = x.data._version


def test_detach_removes_the_history_in_place() -> None:
    x = interlock.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)
    assert x.detach_() is x
    assert not x.requires_grad
    with pytest.raises(ArgumentError, match="detach_: the tensor must not be a view"):
        (interlock.ones(2, requires_grad=True) * 2)[:1].detach_()
