"""The order of elements in memory: `memory_format`, `layout`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import grad_mode
from interlock.errors import ArgumentError, UnsupportedError

LIKE: dict[str, Callable[..., Tensor]] = {
    "clone": interlock.clone,
    "Tensor.clone": Tensor.clone,
    "zeros_like": interlock.zeros_like,
    "ones_like": interlock.ones_like,
    "empty_like": interlock.empty_like,
    "full_like": lambda x, **options: interlock.full_like(x, 2, **options),
    "rand_like": interlock.rand_like,
    "randn_like": interlock.randn_like,
    "randint_like": lambda x, **options: interlock.randint_like(x, 9, **options),
    "double": Tensor.double,
    "to another dtype": lambda x, **options: x.to(interlock.float64, **options),
    "to with copy": lambda x, **options: x.to(copy=True, **options),
}


@pytest.mark.parametrize("name", LIKE)
def test_memory_format_sets_the_strides_of_new_tensors(name: str) -> None:
    x, function = interlock.ones(4, 3).t(), LIKE[name]
    strides = [
        function(x, **options).stride()
        for options in (
            {},
            {"memory_format": None},
            {"memory_format": interlock.preserve_format},
            {"memory_format": interlock.contiguous_format},
        )
    ]
    assert strides == [(1, 3), (1, 3), (1, 3), (4, 1)]
    for format in (interlock.channels_last, interlock.channels_last_3d):
        with pytest.raises(UnsupportedError, match=f"got {format}, which is not implemented"):
            function(x, memory_format=format)


@pytest.mark.parametrize(
    "convert",
    [Tensor.float, Tensor.cpu, Tensor.to, lambda x, **options: x.to(interlock.float32, **options)],
)
def test_conversion_without_a_change_returns_the_tensor(convert: Callable[..., Tensor]) -> None:
    x = interlock.ones(4, 3).t()
    assert convert(x, memory_format=interlock.contiguous_format) is x


def test_conversion_to_a_memory_format_is_recorded() -> None:
    x = interlock.ones(4, 3, requires_grad=True)
    y = x.t().to(interlock.float64, memory_format=interlock.contiguous_format)
    (y * interlock.arange(12).reshape(3, 4)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == interlock.arange(12.0).reshape(3, 4).t().tolist()


def test_contiguous_and_is_contiguous_accept_the_contiguous_format() -> None:
    x = interlock.ones(4, 3).t()
    assert x.contiguous(memory_format=interlock.contiguous_format).stride() == (4, 1)
    for format in (interlock.contiguous_format, interlock.preserve_format):
        assert not x.is_contiguous(memory_format=format)
        assert x.t().is_contiguous(memory_format=format)
    for wrong, given in ((None, "None"), (3, "int")):
        message = f"^contiguous: memory_format must be interlock.contiguous_format, got {given}$"
        with pytest.raises(TypeError, match=message):
            x.contiguous(memory_format=wrong)  # type: ignore[arg-type]


ROW_MAJOR: dict[str, Callable[..., Tensor]] = {
    "contiguous": lambda **options: interlock.zeros(2).contiguous(**options),
    "empty": lambda **options: interlock.empty(2, **options),
    "resize_": lambda **options: interlock.zeros(2).resize_(3, **options),
}


@pytest.mark.parametrize("name", ROW_MAJOR)
def test_functions_with_one_memory_format_refuse_others(name: str) -> None:
    assert ROW_MAJOR[name](memory_format=interlock.contiguous_format).is_contiguous()
    head = f"^{name}: memory_format must be interlock.contiguous_format, got interlock."
    with pytest.raises(ArgumentError, match=head + "preserve_format$"):
        ROW_MAJOR[name](memory_format=interlock.preserve_format)
    with pytest.raises(UnsupportedError, match=head + "channels_last, which is not implemented$"):
        ROW_MAJOR[name](memory_format=interlock.channels_last)


def test_resize_to_the_contiguous_format_changes_strides_of_the_same_shape() -> None:
    format = interlock.contiguous_format
    x = interlock.arange(6).view(2, 3).t()
    assert (x.resize_(3, 2).stride(), x._version) == ((1, 3), 0)
    assert x.resize_as_(x.clone()).stride() == (1, 3)
    assert x.resize_(3, 2, memory_format=format).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (x.resize_(3, 2, memory_format=format).stride(), x._version) == ((2, 1), 1)
    y = interlock.arange(6).view(2, 3).t()
    assert y.resize_as_(y.clone(), memory_format=format).stride() == (2, 1)
    expanded = interlock.ones(1).expand(3)
    assert expanded.resize_(3, memory_format=format).stride() == (1,)
    assert expanded.storage_offset() == 0


@pytest.mark.parametrize("name", ["strided", "contiguous_format", "preserve_format", "channels_last"])
def test_layouts_and_formats_are_singletons(name: str) -> None:
    value: Any = getattr(interlock, name)
    assert repr(value) == f"interlock.{name}"
    assert pickle.loads(pickle.dumps(value)) is value
    assert copy.deepcopy(value) is value
    assert {value: 1}[value] == 1
    with pytest.raises(TypeError):
        type(value)()


def test_layout_and_is_cpu(devices: tuple[str, str]) -> None:
    assert interlock.ones(2).layout is interlock.strided
    assert isinstance(interlock.strided, interlock.layout)
    assert isinstance(interlock.preserve_format, interlock.memory_format)
    assert interlock.ones(2).is_cpu
    assert not interlock.ones(2, device=devices[0]).is_cpu


def test_layout_of_a_new_tensor_is_strided() -> None:
    assert interlock.zeros(2, layout=interlock.strided).tolist() == [0.0, 0.0]
    assert interlock.ones_like(interlock.zeros(2), layout=None).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"^zeros: layout must be interlock.strided or None, got str$"):
        interlock.zeros(2, layout="strided")  # type: ignore[arg-type]


def test_first_wrong_option_of_a_new_tensor_is_reported() -> None:
    wrong: dict[str, Any] = {"dtype": 3, "layout": 3, "device": 2.5, "requires_grad": 3, "pin_memory": 3}
    names = list(wrong)
    for first in range(len(names)):
        later = {name: wrong[name] for name in reversed(names[first:])}
        for function in (interlock.zeros, interlock.rand, interlock.empty):
            with pytest.raises(TypeError, match=f"^{function.__name__}: {names[first]} must be"):
                function(2, **later)


@pytest.mark.filterwarnings("ignore:backward.*reference cycle:UserWarning")
@pytest.mark.parametrize("enforced", [True, False])
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradient_has_the_strides_of_a_leaf_without_gaps(enforced: bool, create_graph: bool) -> None:
    with grad_mode.enforce_grad_layout_policy(enforced):
        leaf = interlock.rand(4, 3, 2).permute(2, 0, 1).requires_grad_()
        for _ in range(2):
            (leaf * leaf).sum().backward(create_graph=create_graph)
        assert leaf.grad is not None
        assert leaf.grad.is_contiguous() is not enforced
        assert leaf.grad.stride() == (leaf.stride() if enforced else (12, 3, 1))
        assert interlock.equal(leaf.grad, leaf * 4)
    leaf = interlock.rand(3, 2).t().requires_grad_()
    given = interlock.rand(2, 3)
    leaf.backward(given)
    assert leaf.grad is not None
    assert leaf.grad.stride() == (1, 2)
    assert interlock.equal(leaf.grad, given)
    with_gaps = interlock.rand(2, 6)[:, ::2].detach().requires_grad_()
    (with_gaps * 2).sum().backward()
    assert with_gaps.grad is not None
    assert with_gaps.grad.stride() == (3, 1)
