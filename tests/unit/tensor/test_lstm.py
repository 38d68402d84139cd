"""Long short-term memory: values, gradients, the flags of its kernels, graphs, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import interlock
import pytest
from interlock import Tensor, accelerator, backends, dispatch

STEPS, BATCH, FEATURES, SIZE = 4, 2, 3, 2


def waves(*shape: int, phase: float = 0.0, **options: Any) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return (interlock.arange(float(count), **options) * 1.7 + phase).sin().reshape(shape) * 0.8


def weights(layers: int, has_biases: bool = True, **options: Any) -> list[Tensor]:
    params = []
    for layer in range(layers):
        inputs = FEATURES if layer == 0 else SIZE
        shapes: list[tuple[int, ...]] = [(4 * SIZE, inputs), (4 * SIZE, SIZE)]
        shapes += [(4 * SIZE,)] * 2 if has_biases else []
        params += [waves(*shape, phase=layer + number, **options) for number, shape in enumerate(shapes)]
    return params


def states(layers: int, **options: Any) -> tuple[Tensor, Tensor]:
    return tuple(waves(layers, BATCH, SIZE, phase=phase, **options) for phase in (5.0, 6.0))  # type: ignore[return-value]  # two items


def lstm(
    x: Tensor, hx: tuple[Tensor, Tensor], params: Sequence[Tensor], layers: int = 1, **changed: Any
) -> tuple[Tensor, Tensor, Tensor]:
    options: dict[str, Any] = {
        "has_biases": True,
        "num_layers": layers,
        "dropout": 0.0,
        "train": False,
        "bidirectional": False,
        "batch_first": False,
    }
    return interlock.lstm(x, hx, params, **(options | changed))


def test_second_layer_reads_the_hidden_states_of_the_first() -> None:
    x, params, (hidden, cell) = waves(STEPS, BATCH, FEATURES), weights(2), states(2)
    output, last_hidden, last_cell = lstm(x, (hidden, cell), params, 2)
    first = lstm(x, (hidden[:1], cell[:1]), params[:4])
    second = lstm(first[0], (hidden[1:], cell[1:]), params[4:])
    assert output.tolist() == second[0].tolist()
    assert last_hidden.tolist() == [*first[1].tolist(), *second[1].tolist()]
    assert last_cell.tolist() == [*first[2].tolist(), *second[2].tolist()]


def test_lstm_without_biases_equals_one_with_biases_of_0() -> None:
    x, params, hx = waves(STEPS, BATCH, FEATURES), weights(1, has_biases=False), states(1)
    zeros = interlock.zeros(4 * SIZE)
    expected = lstm(x, hx, [*params, zeros, zeros])[0]
    assert lstm(x, hx, params, has_biases=False)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64"])
def test_lstm_of_other_dtypes_is_close_to_that_of_float32(name: str) -> None:
    dtype = getattr(interlock, name)
    x, params, hx = waves(STEPS, BATCH, FEATURES), weights(1), states(1)
    expected = lstm(x, hx, params)[0]
    output = lstm(x.to(dtype), (hx[0].to(dtype), hx[1].to(dtype)), [each.to(dtype) for each in params])[0]
    assert output.dtype == dtype
    assert (output.float() - expected).abs().max().item() < (0.02 if name == "bfloat16" else 0.002)


@pytest.mark.usefixtures("host_accessible_memory")
def test_digits_of_an_lstm_on_a_device_change_with_cudnn_enabled(devices: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"device": devices[0]}
    x, params, hx = waves(STEPS, BATCH, FEATURES, **options), weights(1, **options), states(1, **options)
    on_cpu = lstm(x.cpu(), (hx[0].cpu(), hx[1].cpu()), [each.cpu() for each in params])[0].tolist()
    with dispatch.record() as calls:
        rounded = lstm(x, hx, params)[0].tolist()
    assert (calls[-1].operation, calls[-1].kernel) == ("lstm", "cudnn")
    assert {call.composite for call in calls[:-1]} == {"lstm"}
    assert rounded != on_cpu
    with backends.cudnn.flags(enabled=False):
        assert lstm(x, hx, params)[0].tolist() == on_cpu
    with backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert lstm(x, hx, params)[0].tolist() == on_cpu
    flags: Any = {"cuda.matmul.fp32_precision": "tf32", "cudnn.enabled": False}
    with backends.override(flags):
        assert lstm(x, hx, params)[0].tolist() == rounded


@pytest.mark.usefixtures("host_accessible_memory")
def test_gradient_of_an_lstm_obeys_the_node_when_it_is_computed(devices: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"device": devices[0]}
    x, params, hx = waves(STEPS, BATCH, FEATURES, **options), weights(1, **options), states(1, **options)

    def gradient(precision: Any) -> object:
        x.requires_grad_().grad = None
        exact: Any = {"cudnn.rnn.fp32_precision": "ieee"}
        with backends.override(exact):
            output = lstm(x, hx, params)[0].sum()
        with backends.override(exact | {"cudnn.rnn.fp32_precision": precision}):
            output.backward()
        assert x.grad is not None
        return x.grad.tolist()

    assert gradient("ieee") == gradient("ieee")
    assert gradient("tf32") != gradient("ieee")


@pytest.mark.usefixtures("host_accessible_memory")
def test_lstm_and_its_gradients_replay_in_a_graph(devices: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"device": devices[0]}
    x, params, hx = waves(STEPS, BATCH, FEATURES, **options), weights(1, **options), states(1, **options)
    x.requires_grad_()

    def step() -> list[Tensor]:
        output = lstm(x, hx, params)[0]
        return [output, interlock.autograd.grad(output.sum(), x)[0]]

    expected = [tensor.tolist() for tensor in step()]
    graph = accelerator.Graph()
    accelerator.synchronize(devices[0])
    with accelerator.Stream(devices[0]), graph:
        results = step()
    graph.replay()
    accelerator.synchronize(devices[0])
    assert [tensor.tolist() for tensor in results] == expected
    with interlock.no_grad():
        x.mul_(0.5)
    changed = [tensor.tolist() for tensor in step()]
    graph.replay()
    accelerator.synchronize(devices[0])
    assert [tensor.tolist() for tensor in results] == changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bidirectional": True}, "lstm: bidirectional must be False"),
        ({"dropout": 0.5, "train": True}, "lstm: dropout must be 0 if train is True"),
        ({"dropout": 1.5}, "lstm: dropout must be from 0 to 1, got 1.5"),
        ({"num_layers": 0}, "lstm: num_layers must be at least 1, got 0"),
        ({"num_layers": 2}, "lstm: params must hold 4 Tensors for each of 2 layers, got 4"),
        ({"has_biases": False}, "lstm: params must hold 2 Tensors for each of 1 layers, got 4"),
    ],
)
def test_lstm_refuses_options(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(interlock.errors.ArgumentError) as caught:
        lstm(waves(STEPS, BATCH, FEATURES), states(1), weights(1), **changed)
    assert str(caught.value).startswith(message)


def test_dropout_without_training_has_no_effect() -> None:
    x, params, hx = waves(STEPS, BATCH, FEATURES), weights(1), states(1)
    assert lstm(x, hx, params, dropout=0.5)[0].tolist() == lstm(x, hx, params)[0].tolist()


def test_lstm_names_arguments_of_other_types() -> None:
    x, params, hx = waves(STEPS, BATCH, FEATURES), weights(1), states(1)
    with pytest.raises(TypeError, match=r"lstm: hx must be a tuple of two Tensors, got a Tensor"):
        lstm(x, hx[0], params)  # type: ignore[arg-type]  # refused
    with pytest.raises(TypeError, match=r"lstm: params\[0\] must be a Tensor"):
        lstm(x, hx, [1.0])  # type: ignore[list-item]  # refused


@pytest.mark.parametrize(
    ("position", "shape", "message"),
    [
        (0, (3, 2), "input must have 3 dimensions, got shape (3, 2)"),
        (0, (0, BATCH, FEATURES), f"input must have at least one step, got shape (0, {BATCH}, {FEATURES})"),
        (2, (1, 1, SIZE), f"hx[1] must be of shape (1, {BATCH}, {SIZE}), got shape (1, 1, {SIZE})"),
        (4, (4 * SIZE, 9), f"a hidden weight of params must be of shape ({4 * SIZE}, {SIZE}), got shape"),
        (5, None, "dtypes must match, got float32 and float64"),
    ],
)
def test_lstm_names_the_operand_that_does_not_fit(
    position: int, shape: tuple[int, ...] | None, message: str
) -> None:
    operands = [waves(STEPS, BATCH, FEATURES), *states(1), *weights(1)]
    operands[position] = interlock.zeros(shape) if shape else operands[position].double()
    with pytest.raises(RuntimeError) as caught:
        lstm(operands[0], (operands[1], operands[2]), operands[3:])
    assert str(caught.value).startswith(f"lstm: {message}")
