"""`interlock.nn` has the signatures of PyTorch, and refuses clearly what it does not have."""

from __future__ import annotations

import inspect
import math
import re
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
    "binary_cross_entropy": f"input, target, weight=None, {LEGACY}",
    "binary_cross_entropy_with_logits": f"input, target, weight=None, {LEGACY}, pos_weight=None",
    "conv2d": "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
    "cross_entropy": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
    "reduction='mean', label_smoothing=0.0",
    "dropout": "input, p=0.5, training=True, inplace=False",
    "elu": "input, alpha=1.0, inplace=False",
    "gelu": "input, approximate='none', *, out=None",
    "embedding": "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
    "sparse=False",
    "l1_loss": f"input, target, {LEGACY}, weight=None",
    "layer_norm": "input, normalized_shape, weight=None, bias=None, eps=1e-05",
    "leaky_relu": "input, negative_slope=0.01, inplace=False",
    "linear": "input, weight, bias=None, *, out=None",
    "log_softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "logsigmoid": "input, *, out=None",
    "mse_loss": f"input, target, {LEGACY}, weight=None",
    "nll_loss": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, "
    "reduction='mean'",
    "one_hot": "tensor, num_classes=-1",
    "pad": "input, pad, mode='constant', value=None",
    "relu": "input, inplace=False",
    "relu_": "input",
    "scaled_dot_product_attention": "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, "
    "scale=None, enable_gqa=False",
    "sigmoid": "input",
    "silu": "input, inplace=False",
    "softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "softmin": "input, dim=None, _stacklevel=3, dtype=None",
    "softplus": "input, beta=1, threshold=20, *, out=None",
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
    names = [name for name in nn.attention.__all__ if "flash_attention_impl" not in name]
    assert {"SDPBackend", "sdpa_kernel"} <= set(names)
    for name in names:
        assert getattr(nn.attention, name) is getattr(cuda, name)


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


LAYER_ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (("8", 2), {}, TypeError, "embed_dim must be an int, got str"),
    ((8, 2.0), {}, TypeError, "num_heads must be an int, got float"),
    ((8, True), {}, TypeError, "num_heads must be an int, got bool"),
    ((8, 2), {"bias": 1}, TypeError, "bias must be a bool, got int"),
    ((8, 2), {"dtype": "float32"}, TypeError, "dtype must be an interlock.dtype, got 'float32'"),
    (
        (8, 2),
        {"dtype": interlock.int64},
        errors.DTypeError,
        "dtype must be floating point, got interlock.int64",
    ),
    ((2**70, 1), {}, errors.ArgumentError, f"embed_dim must be from 1 to 2**29, got {2**70}"),
    ((8, 3), {}, errors.ArgumentError, "num_heads must divide embed_dim, 8, got 3"),
    ((8, 2), {"dropout": "a"}, errors.ArgumentError, "dropout must be 0.0, got 'a'"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "message"), LAYER_ARGUMENTS)
def test_wrong_arguments_of_the_layer_are_named(
    arguments: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        nn.MultiheadAttention(*arguments, **options)
    assert str(raised.value) == f"MultiheadAttention: {message}"


def test_wrong_state_is_named_and_changes_nothing() -> None:
    layer = nn.MultiheadAttention(4, 2)
    state = layer.state_dict()
    before = {name: tensor.tolist() for name, tensor in state.items()}
    wrong: list[tuple[Any, type[Exception], str]] = [
        (3, TypeError, "state_dict must be a mapping, got int"),
        ({}, errors.ArgumentError, "missing: in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias"),
        ({**state, "other": state["in_proj_bias"]}, errors.ArgumentError, "got 'other'"),
        (
            {**state, "out_proj.bias": 3},
            TypeError,
            r"state_dict\['out_proj.bias'\] must be a Tensor, got int",
        ),
        (
            {**{name: tensor * 2 for name, tensor in state.items()}, "out_proj.bias": interlock.ones(3)},
            errors.ShapeError,
            r"state_dict\['out_proj.bias'\] must be of shape \(4,\), got shape \(3,\)",
        ),
    ]
    for given, error, message in wrong:
        with pytest.raises(error, match=f"^load_state_dict: .*{message}$"):
            layer.load_state_dict(given)
    assert {name: tensor.tolist() for name, tensor in layer.state_dict().items()} == before


def test_errors_of_the_layer_name_it() -> None:
    layer, x = nn.MultiheadAttention(4, 2, batch_first=True), interlock.ones(2, 3, 4)
    with pytest.raises(
        errors.DTypeError, match=r"^MultiheadAttention: dtypes must match, got float64 and float32"
    ):
        layer(x.double(), x.double(), x.double())
    with pytest.raises(errors.DTypeError, match=r"^MultiheadAttention: "):
        layer(x, x, x.long())
    masks: dict[str, Any] = {
        "attn_mask": interlock.ones(3, 3, dtype=interlock.int32),
        "key_padding_mask": interlock.ones(2, 3, dtype=interlock.uint8),
    }
    for name, mask in masks.items():
        message = f"^MultiheadAttention: {name} must be bool or floating point, got u?int"
        with pytest.raises(errors.DTypeError, match=message):
            layer(x, x, x, **{name: mask})
    wide = interlock.ones(2, 3, 7)
    message = "query must have a last dimension of size embed_dim, 4, got shape (2, 3, 7)"
    with pytest.raises(errors.ShapeError, match=f"^MultiheadAttention: {re.escape(message)}$"):
        layer(wide, wide, wide)


@pytest.mark.parametrize("need_weights", [True, False])
def test_query_without_keys_is_nan_where_pytorch_computes_scores(need_weights: bool) -> None:
    layer, x = nn.MultiheadAttention(4, 2, batch_first=True).eval(), interlock.ones(2, 3, 4)
    padding = interlock.tensor([[True, True, True], [False, False, True]])
    with interlock.no_grad():
        fast = layer(x, x, x, key_padding_mask=padding, need_weights=need_weights)[0]
    composed = layer(x, x, x, key_padding_mask=padding, need_weights=need_weights)[0].detach()
    assert all(math.isnan(value) for value in fast[0].reshape(-1).tolist())
    # Without weights the composed kernel calls scaled_dot_product_attention, whose result is 0 there.
    assert all(math.isnan(value) is need_weights for value in composed[0].reshape(-1).tolist())
    for row, expected in zip(fast[1].tolist(), composed[1].tolist(), strict=True):
        assert row == pytest.approx(expected, abs=1e-6)
