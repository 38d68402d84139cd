"""`nn.Parameter`, subclasses of `Tensor`, and the attributes of leaves."""

from __future__ import annotations

import copy
import pickle

import interlock
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, DTypeError
from interlock.nn import Parameter

from tests.helpers.subprocess import eval_python


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


def test_garbage_collection_visits_tensors_that_are_being_created() -> None:
    # CPython 3.11 creates the `__dict__`, which can start a collection, before the object has a tensor.
    code = "import gc, interlock; gc.set_threshold(1); x = [interlock.ones(2) for _ in range(300)]"
    assert eval_python(f"{code}; result = len(x)") == 300


def test_detach_removes_the_history_in_place() -> None:
    x = interlock.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)
    assert x.detach_() is x
    assert not x.requires_grad
    with pytest.raises(ArgumentError, match="detach_: the tensor must not be a view"):
        (interlock.ones(2, requires_grad=True) * 2)[:1].detach_()
