"""`interlock.nn` has the signatures of PyTorch, and refuses clearly what it does not have."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import errors, nn
from interlock.backends import cuda
from interlock.nn import functional

# The parameters in PyTorch 2.13. Those of native functions are in their docstrings.
LEGACY = "size_average=None, reduce=None, reduction='mean'"
SIGNATURES = {
    "conv2d": "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
    "cross_entropy": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
    "reduction='mean', label_smoothing=0.0",
    "l1_loss": f"input, target, {LEGACY}, weight=None",
    "linear": "input, weight, bias=None",
    "log_softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "mse_loss": f"input, target, {LEGACY}, weight=None",
    "nll_loss": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
    "reduction='mean'",
    "relu": "input, inplace=False",
    "scaled_dot_product_attention": "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, "
    "scale=None, enable_gqa=False",
    "sigmoid": "input",
    "softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "softmin": "input, dim=None, _stacklevel=3, dtype=None",
    "tanh": "input",
}
LAYER = (
    "embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, "
    "vdim=None, batch_first=False, device=None, dtype=None"
)
FORWARD = (
    "query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, "
    "average_attn_weights=True, is_causal=False"
)


def parameters(function: Callable[..., Any]) -> str:
    """Return the parameters without annotations."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))[1:-1]


def test_table_has_every_function() -> None:
    assert sorted(SIGNATURES) == sorted(functional.__all__)


@pytest.mark.parametrize("name", SIGNATURES)
def test_function_has_the_parameters_of_pytorch(name: str) -> None:
    assert parameters(getattr(functional, name)) == SIGNATURES[name]


def test_layer_has_the_parameters_of_pytorch() -> None:
    assert parameters(nn.MultiheadAttention) == LAYER
    assert parameters(nn.MultiheadAttention.forward) == FORWARD
    assert parameters(nn.MultiheadAttention.__call__) == FORWARD


def test_attention_has_the_objects_of_backends() -> None:
    for name in nn.attention.__all__:
        assert getattr(nn.attention, name) is getattr(cuda, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: functional.relu(x, inplace=True), "relu: inplace must be False, got True"),
        (lambda x, y: functional.cross_entropy(x, y, x), "cross_entropy: weight must be None, got a Tensor"),
        (
            lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1),
            "cross_entropy: label_smoothing must be 0.0, got 0.1",
        ),
        (
            lambda x, y: functional.nll_loss(x, y, ignore_index=0),
            "nll_loss: ignore_index must be -100, got 0",
        ),
        (lambda x, y: functional.mse_loss(x, x, weight=x), "mse_loss: weight must be None, got a Tensor"),
    ],
)
def test_argument_for_what_does_not_exist_is_refused(call: Any, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=f"^{message}$"):
        call(interlock.zeros(1, 2), interlock.tensor([0]))


def test_losses_have_the_reductions_of_pytorch() -> None:
    x, y = interlock.tensor([1.0, -3.0], requires_grad=True), interlock.tensor([0.0, 0.0])
    assert functional.mse_loss(x, y).item() == 5.0
    assert functional.mse_loss(x, y, reduction="sum").item() == 10.0
    assert functional.l1_loss(x, y, reduction="none").tolist() == [1.0, 3.0]
    functional.l1_loss(x, y).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match=r"^mse_loss: reduction must be 'none', 'mean' or 'sum', got 'all'"):
        functional.mse_loss(x, y, reduction="all")
    with pytest.raises(ValueError, match=r"^nll_loss: reduction must be 'none', 'mean' or 'sum', got 'all'"):
        functional.nll_loss(interlock.zeros(1, 2), interlock.tensor([0]), reduction="all")
    assert functional.nll_loss(interlock.tensor([[1.0, 2.0]]), interlock.tensor([1])).item() == -2.0


@pytest.mark.parametrize(
    ("legacy", "reduction"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"reduce": True, "size_average": False}, "sum"),
    ],
)
def test_deprecated_arguments_select_a_reduction_with_a_warning(legacy: Any, reduction: str) -> None:
    x, y = interlock.tensor([1.0, 2.0]), interlock.zeros(2)
    with pytest.warns(UserWarning, match=f"use reduction='{reduction}'") as caught:
        found = functional.mse_loss(x, y, **legacy)
    assert caught[0].filename == __file__
    assert found.tolist() == functional.mse_loss(x, y, reduction=reduction).tolist()


def test_softmax_without_dim_warns_and_chooses_by_the_number_of_dimensions() -> None:
    for shape, dim in (((2,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((1, 2, 3, 2), 1)):
        x = interlock.ones(*shape)
        for function in (functional.softmax, functional.log_softmax, functional.softmin):
            with pytest.warns(UserWarning, match="the choice of dim by the number of dimensions") as caught:
                found = function(x)
            assert caught[0].filename == __file__
            assert found.tolist() == function(x, dim=dim).tolist()
    assert functional.softmin(interlock.tensor([0.0, math.log(3.0)]), dim=0).tolist() == pytest.approx(
        [0.75, 0.25]
    )
