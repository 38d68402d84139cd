"""Scaled-dot-product attention: which kernel runs it, what the kernels compute, and their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator, backends, dispatch, errors, nn
from interlock.accelerator import Graph
from interlock.nn import attention, functional
from interlock.nn.attention import SDPBackend, sdpa_kernel

OP = "scaled_dot_product_attention"
HALVES = (interlock.float16, interlock.bfloat16)
BY_NUMBER = ("math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable")
KERNELS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def tensors(
    *shapes: tuple[int, ...], dtype: interlock.dtype = interlock.float32, device: str = "cpu", **options: Any
) -> list[Tensor]:
    """Return tensors of random numbers that bfloat16 can hold, which are equal in each call."""
    generator = np.random.default_rng(0)
    values = [(generator.integers(-64, 64, shape) / 64).astype(np.float32) for shape in shapes]
    return [interlock.tensor(value, dtype=dtype, device=device, **options) for value in values]


def same_shape(*shape: int, **options: Any) -> list[Tensor]:
    """Return a query, a key and a value."""
    return tensors(shape, shape, shape, **options)


def chosen(operands: Iterable[Tensor], **options: Any) -> str | None:
    """Return the kernel that would run a call."""
    return dispatch.explain("scaled_dot_product_attention", *operands, **options).kernel


def reason(kernel: str, operands: Iterable[Tensor], **options: Any) -> str:
    """Return the reason against a kernel."""
    call = dispatch.explain("scaled_dot_product_attention", *operands, **options)
    return str({one.kernel: one.reason for one in call.considered}[kernel])


def reference(query: Tensor, key: Tensor, value: Tensor, mask: Any = None, is_causal: bool = False) -> Any:
    """Return the attention in float64."""
    q, k, v = (tensor.double().cpu().numpy() for tensor in (query, key, value))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ v


def test_cpu_has_flash_before_math_whatever_the_priority() -> None:
    operands = same_shape(1, 2, 4, 8)
    with backends.override({"cuda.sdp_priority": BY_NUMBER}):
        assert chosen(operands) == "flash"
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert chosen(operands) == "flash"
    with sdpa_kernel(SDPBackend.MATH):
        assert chosen(operands) == "math"
    assert chosen(same_shape(2, 4, 8)) == "math"


@pytest.mark.usefixtures("host_accessible_memory")
def test_devices_choose_by_dtype_and_priority(devices: tuple[str, ...]) -> None:
    def kernel(dtype: interlock.dtype, **options: Any) -> str | None:
        return chosen(same_shape(1, 2, 8, 8, dtype=dtype, device=devices[0]), **options)

    assert [kernel(dtype) for dtype in HALVES] == ["flash", "flash"]
    assert kernel(interlock.float32) == "efficient"
    assert kernel(interlock.float64) == "math"
    mask = interlock.ones(8, 8, device=devices[0])
    assert kernel(interlock.float16, attn_mask=mask) == "efficient"
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert kernel(interlock.float16) == "cudnn"
        assert kernel(interlock.float32) is None
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert kernel(interlock.float16) == "math"


@pytest.mark.usefixtures("host_accessible_memory")
def test_kernels_of_devices_are_models(devices: tuple[str, ...]) -> None:
    operands = same_shape(1, 2, 8, 8, dtype=interlock.float16, device=devices[0])
    for name, backend in KERNELS.items():
        with sdpa_kernel(backend), dispatch.record() as calls:
            functional.scaled_dot_product_attention(*operands)
        assert (calls[-1].operation, calls[-1].kernel, calls[-1].is_model) == (OP, name, name != "math")
        products = [call.composite for call in calls if call.operation == "matmul"]
        assert products == ([OP, OP] if name == "math" else [])
    assert dispatch.explain("scaled_dot_product_attention", *same_shape(1, 1, 2, 2)).is_model is False
    assert attention.can_use_flash_attention is backends.cuda.can_use_flash_attention
    assert backends.cuda.is_flash_attention_available() is False
    assert backends.cudnn.is_available() is False or backends.cudnn.version() is not None


def test_all_switches_off_is_one_error_with_every_reason() -> None:
    operands = same_shape(1, 1, 2, 2)
    with sdpa_kernel([]), pytest.raises(RuntimeError) as raised:
        functional.scaled_dot_product_attention(*operands)
    message = str(raised.value)
    assert "no kernel can run this call" in message
    assert "flash: backends.cuda.flash_sdp is False" in message
    assert "math: backends.cuda.math_sdp is False" in message
    assert message.count("needs a device, got cpu") == 0, "the switches are off as well"
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]):
        assert chosen(operands) is None
        assert reason("efficient", operands) == reason("cudnn", operands) == "needs a device, got cpu"


def test_conditions_of_the_cpu() -> None:
    query = same_shape(1, 2, 4, 8)
    mask = interlock.zeros(4, 4, requires_grad=True)
    assert reason("flash", query, attn_mask=mask) == "needs an attn_mask that does not require grad"
    assert reason("flash", query, attn_mask=interlock.zeros(2, 4, 4)) == (
        "needs an attn_mask with 2 or 4 dimensions, got 3"
    )
    assert reason("flash", same_shape(2, 4, 8)) == "needs 4 dimensions, got 3"
    assert reason("flash", tensors((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 3))) == (
        "needs query and value of one size, got 8 and 3"
    )
    assert reason("flash", tensors((2, 1, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8))) == (
        "needs equal batch sizes, got 2, 1 and 1"
    )
    shared = tensors((1, 4, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8))
    assert chosen(shared, enable_gqa=True) == "flash"
    with pytest.raises(errors.ShapeError, match="cannot be broadcast"):
        chosen(shared)
    transposed = [query[0].transpose(2, 3), query[0].transpose(2, 3), query[0].transpose(2, 3)]
    assert reason("flash", transposed) == "needs a stride of 1 in the last dimension"
    assert reason("flash", tensors((1, 2, 4, 8), (1, 2, 0, 8), (1, 2, 0, 8))) == (
        "needs queries and keys, got 4 and 0"
    )


@pytest.mark.parametrize("kernel", ["flash", "math"])
def test_a_mask_with_is_causal_is_an_error(kernel: str) -> None:
    x = same_shape(1, 2, 4, 8)
    both: Any = {"attn_mask": interlock.zeros(4, 4), "is_causal": True}
    expected = "scaled_dot_product_attention: attn_mask must be None if is_causal is True, got a tensor$"
    calls: list[Callable[[], Any]] = [
        lambda: functional.scaled_dot_product_attention(*x, **both),
        lambda: chosen(x, **both),
    ]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION if kernel == "flash" else SDPBackend.MATH):
        for call in calls:
            with pytest.raises(errors.ArgumentError, match=f"^(explain: )?{expected}") as raised:
                call()
            assert isinstance(raised.value, RuntimeError)


@pytest.mark.usefixtures("host_accessible_memory")
def test_conditions_of_devices(devices: tuple[str, ...]) -> None:
    def refusal(kernel: str, *shapes: tuple[int, ...], **options: Any) -> str:
        dtype = options.pop("dtype", interlock.float16)
        shapes = shapes if len(shapes) == 3 else (shapes[0], shapes[-1], shapes[-1])
        return reason(kernel, tensors(*shapes, dtype=dtype, device=devices[0]), **options)

    mask = interlock.zeros(8, 8, device=devices[0])
    assert refusal("flash", (1, 1, 8, 8), attn_mask=mask) == "needs no attn_mask on a device"
    assert refusal("flash", (1, 1, 8, 264)) == "needs sizes of heads up to 256, got 264"
    assert refusal("flash", (1, 1, 8, 8), (1, 1, 9, 8), is_causal=True) == (
        "needs as many queries as keys for is_causal, got 8 and 9"
    )
    wanted = "needs float16 or bfloat16, got float32"
    assert refusal("flash", (1, 1, 8, 8), dtype=interlock.float32) == wanted
    assert refusal("cudnn", (1, 1, 8, 8), dtype=interlock.float32) == wanted
    assert refusal("cudnn", (1, 1, 8, 136)) == "needs sizes of heads up to 128, got 136"
    assert refusal("cudnn", (1, 1, 8, 12)) == "needs sizes of heads that are multiples of 8, got 12"
    assert refusal("cudnn", (1, 1, 8, 8), (1, 1, 1, 8)) == "needs at least 2 keys, got 1"
    assert refusal("efficient", (1, 1, 8, 12)) == "needs sizes of heads that are multiples of 8, got 12"
    wide = "needs sizes of heads that are multiples of 4, got 6"
    assert refusal("efficient", (1, 1, 8, 6), dtype=interlock.float32) == wide
    assert refusal("efficient", (1, 1, 8, 8), dtype=interlock.float64) == (
        "needs float32, float16 or bfloat16, got float64"
    )
    gqa = refusal("efficient", (1, 4, 8, 8), (1, 2, 8, 8), enable_gqa=True)
    assert gqa == "needs equal numbers of heads, got 4, 2 and 2"


@pytest.mark.parametrize("kernel", ["flash", "math"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (1, 1, 200, 16)])
def test_kernels_of_the_cpu_equal_the_formula(kernel: str, is_causal: bool, shape: tuple[int, ...]) -> None:
    operands = same_shape(*shape)
    with sdpa_kernel(KERNELS[kernel]):
        out = functional.scaled_dot_product_attention(*operands, is_causal=is_causal)
    np.testing.assert_allclose(out.numpy(), reference(*operands, is_causal=is_causal), rtol=1e-5, atol=1e-6)


def noise(*shape: int) -> Tensor:
    """Return random numbers of dtype float64."""
    return interlock.tensor(np.random.default_rng(1).standard_normal(shape))


@pytest.mark.parametrize(
    ("rows", "keys", "heads", "options"),
    [
        (130, 300, 4, {}),
        (1, 1, 4, {"is_causal": True}),
        (300, 130, 4, {"is_causal": True}),
        (130, 300, 4, {"is_causal": True}),
        (257, 256, 2, {"enable_gqa": True}),
        (130, 300, 4, {"attn_mask": noise(3, 1, 130, 300) > 0.3}),
        (130, 300, 1, {"attn_mask": noise(130, 300), "enable_gqa": True}),
        (5, 7, 4, {"scale": -0.7}),
    ],
)
def test_flash_and_math_agree_on_values_and_gradients(
    rows: int, keys: int, heads: int, options: dict[str, Any]
) -> None:
    def run(kernel: str) -> list[Tensor]:
        shapes = ((3, 4, rows, 5), (3, heads, keys, 5), (3, heads, keys, 5))
        operands = tensors(*shapes, dtype=interlock.float64, requires_grad=True)
        with sdpa_kernel(KERNELS[kernel]):
            out = functional.scaled_dot_product_attention(*operands, **options)
        assert out.grad_fn is not None
        is_flash = out.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
        assert is_flash is (kernel == "flash")
        (out * out).sum().backward()
        return [out.detach(), *(operand.grad for operand in operands if operand.grad is not None)]

    for flash, math in zip(run("flash"), run("math"), strict=True):
        np.testing.assert_allclose(flash.numpy(), math.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", HALVES)
def test_kernels_of_devices_equal_the_formula(
    kernel: str, dtype: interlock.dtype, devices: tuple[str, ...]
) -> None:
    operands = same_shape(2, 2, 150, 16, dtype=dtype, device=devices[0], requires_grad=True)
    with sdpa_kernel(KERNELS[kernel]):
        out = functional.scaled_dot_product_attention(*operands, is_causal=True)
    assert out.dtype is dtype
    close = 2e-3 if dtype is interlock.float16 else 2e-2
    found = out.detach().float().cpu().numpy()
    expected = reference(*(operand.detach() for operand in operands), is_causal=True)
    np.testing.assert_allclose(found, expected, atol=close)
    out.sum().backward()
    on_cpu = same_shape(2, 2, 150, 16, requires_grad=True)
    with sdpa_kernel(SDPBackend.MATH):
        functional.scaled_dot_product_attention(*on_cpu, is_causal=True).sum().backward()
    for half, single in zip(operands, on_cpu, strict=True):
        assert half.grad is not None
        assert single.grad is not None
        assert half.grad.dtype is dtype
        largest = float(single.grad.abs().max())
        np.testing.assert_allclose(
            half.grad.float().cpu().numpy(), single.grad.numpy(), atol=20 * close * max(largest, 1.0)
        )


def test_scores_beyond_float16_overflow_only_if_reduced_sums_are_allowed() -> None:
    x = interlock.full((1, 1, 2, 64), 100.0, dtype=interlock.float16)
    with sdpa_kernel(SDPBackend.MATH):
        assert functional.scaled_dot_product_attention(x, x, x).tolist() == x.tolist()
        with backends.override({"cuda.fp16_bf16_reduction_math_sdp": True}):
            assert np.isnan(functional.scaled_dot_product_attention(x, x, x).float().numpy()).all()
    assert functional.scaled_dot_product_attention(x, x, x).tolist() == x.tolist()


@pytest.mark.usefixtures("host_accessible_memory")
def test_math_obeys_the_precision_of_products(devices: tuple[str, ...]) -> None:
    query = interlock.full((1, 1, 1, 4), 1.0 + 3.0 / 4096.0, device=devices[0])
    with sdpa_kernel(SDPBackend.MATH):
        exact = functional.scaled_dot_product_attention(query, query, query).tolist()
        with backends.override({"cuda.matmul.fp32_precision": "tf32"}), dispatch.record() as calls:
            rounded = functional.scaled_dot_product_attention(query, query, query).tolist()
    assert exact == query.tolist()
    assert rounded != exact
    assert [call.inputs for call in calls] == ["tf32", "tf32", None]
    with backends.override({"cuda.matmul.fp32_precision": "tf32"}):
        assert functional.scaled_dot_product_attention(query, query, query).tolist() == exact


def test_flash_refuses_create_graph_and_names_math() -> None:
    x = interlock.ones(1, 1, 2, 4, requires_grad=True)
    y = functional.scaled_dot_product_attention(x, x, x).sum()
    with pytest.raises(RuntimeError, match=r"select the math kernel, sdpa_kernel\(SDPBackend\.MATH\)"):
        interlock.autograd.grad(y, x, create_graph=True)
    with sdpa_kernel(SDPBackend.MATH):
        y = functional.scaled_dot_product_attention(x, x, x * 2).sum()
    (first,) = interlock.autograd.grad(y, x, create_graph=True)
    (second,) = interlock.autograd.grad((first * first).sum(), x)
    assert second.shape == x.shape


def test_arguments_are_checked() -> None:
    operands = same_shape(1, 1, 2, 4)
    with pytest.raises(errors.ArgumentError, match=r"^scaled_dot_product_attention: dropout_p must be 0"):
        functional.scaled_dot_product_attention(*operands, dropout_p=0.5)
    with pytest.raises(errors.ArgumentError, match=r"dropout_p must be from 0 to 1, got 1.5"):
        functional.scaled_dot_product_attention(*operands, dropout_p=1.5)
    with pytest.raises(TypeError, match=r"^scaled_dot_product_attention: is_causal must be a bool, got int"):
        functional.scaled_dot_product_attention(*operands, is_causal=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^scaled_dot_product_attention: attn_mask must be a Tensor or None"):
        functional.scaled_dot_product_attention(*operands, attn_mask=1)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"^scaled_dot_product_attention: scale must be a float or None, got str"
    ):
        functional.scaled_dot_product_attention(*operands, scale="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        functional.scaled_dot_product_attention(*operands, None, 0.0, False, 0.5)  # type: ignore[misc]
    with pytest.raises(errors.DTypeError, match=r"query must be floating point, got int64"):
        functional.scaled_dot_product_attention(*(operand.long() for operand in operands))
    with pytest.raises(
        TypeError, match=r"^explain: matmul\(\) got an unexpected keyword argument 'is_causal'$"
    ):
        dispatch.explain("matmul", operands[0], operands[0], is_causal=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="scaled_dot_product_attention"):
        dispatch.explain("scaled_dot_product_attention", operands[0])


def peak(function: Any, device: str) -> int:
    """Return the bytes that a function adds to the allocated memory at its peak."""
    accelerator.synchronize(device)
    before = accelerator.memory_allocated(device)
    accelerator.reset_peak_memory_stats(device)
    result = function()
    peak = accelerator.max_memory_allocated(device) - before
    del result
    accelerator.synchronize(device)
    return peak


@pytest.mark.usefixtures("host_accessible_memory", "empty_cache_around")
def test_memory_of_math_is_quadratic_and_of_blocks_linear(devices: tuple[str, ...]) -> None:
    length, size = 1024, 8
    matrix, block = 4 * length * length, 4 * length * 128
    operands = same_shape(1, 1, length, size, device=devices[0])
    with backends.override({"cuda.cublas_workspace": 0}):
        measured = {}
        for name in ("math", "efficient"):
            with sdpa_kernel(KERNELS[name]):
                measured[name] = peak(lambda: functional.scaled_dot_product_attention(*operands), devices[0])
    # With the largest score and the sum of each row.
    results = 4 * length * (size + 2)
    assert measured["efficient"] == block + results
    assert measured["math"] >= 2 * matrix
    assert measured["math"] > 10 * measured["efficient"]


@pytest.mark.usefixtures("host_accessible_memory", "empty_cache_around")
def test_memory_of_the_backward_pass_is_linear_in_blocks(devices: tuple[str, ...]) -> None:
    length, size = 1024, 8
    operands = same_shape(1, 1, length, size, device=devices[0], requires_grad=True)
    peaks = {}
    for name in ("math", "efficient"):
        with sdpa_kernel(KERNELS[name]), backends.override({"cuda.cublas_workspace": 0}):
            out = functional.scaled_dot_product_attention(*operands)
            gradient = interlock.ones(*out.shape, device=devices[0])
            peaks[name] = peak(
                lambda out=out, gradient=gradient: interlock.autograd.grad(out, operands, gradient),
                devices[0],
            )
    assert peaks["efficient"] < 2 * 4 * length * 128 + 10 * 4 * length * size
    assert peaks["math"] > 2 * 4 * length * length


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    before = interlock.get_num_threads()

    def run(threads: int) -> list[bytes]:
        interlock.set_num_threads(threads)
        operands = same_shape(2, 2, 700, 64, requires_grad=True)
        out = functional.scaled_dot_product_attention(*operands, is_causal=True)
        (out * out).sum().backward()
        found = [out.detach(), *(operand.grad for operand in operands if operand.grad is not None)]
        return [tensor.numpy().tobytes() for tensor in found]

    try:
        assert run(threads) == run(1)
    finally:
        interlock.set_num_threads(before)


@pytest.mark.usefixtures("host_accessible_memory")
def test_captured_attention_keeps_its_kernel(devices: tuple[str, ...]) -> None:
    operands = same_shape(1, 1, 8, 8, device=devices[0])
    expected = functional.scaled_dot_product_attention(*operands).tolist()
    graph, stream = Graph(), interlock.Stream(devices[0])
    accelerator.synchronize(devices[0])
    with stream, graph:
        out = functional.scaled_dot_product_attention(*operands)
    with dispatch.record() as calls, sdpa_kernel([]):
        graph.replay()
    assert len(calls) == 0
    accelerator.synchronize(devices[0])
    assert out.tolist() == expected


def test_layer_takes_its_fast_path_and_records_why_not() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = interlock.tensor(np.random.default_rng(1).random((2, 3, 8), np.float32))

    def run() -> tuple[list[list[list[float]]], dispatch.Call, int]:
        with dispatch.record() as calls:
            out, _ = layer(x, x, x, need_weights=False)
        products = sum(call.operation == "matmul" and call.composite == "mha" for call in calls)
        return out.detach().tolist(), calls[-1], products

    training, call, products = run()
    assert (call.operation, call.kernel, products) == ("mha", "composed", 4)
    assert str(call.considered[0].reason) == "needs evaluation mode"
    assert str(call).startswith("mha cpu float32 query 2x3x8, 2 heads, training -> composed")
    layer.eval()
    _, call, _ = run()
    assert str(call.considered[0].reason) == "needs gradients that are not recorded"
    with interlock.no_grad():
        fast, call, products = run()
        assert (call.kernel, products) == ("fastpath", 2)
        with backends.override({"mha.fastpath": False}):
            slow, call, products = run()
    assert (call.kernel, products) == ("composed", 4)
    assert call.considered[0].reason is not None
    assert call.considered[0].reason.flag == "mha.fastpath"
    np.testing.assert_allclose(fast, training, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slow, training, rtol=1e-5, atol=1e-6)
    other = nn.MultiheadAttention(8, 2)
    other.load_state_dict(layer.state_dict())
    by_length, _ = other(*[x.transpose(0, 1)] * 3, need_weights=False)
    np.testing.assert_allclose(by_length.detach().transpose(0, 1).numpy(), fast, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("changed", "operands", "mask", "reason"),
    [
        ({}, "copy", None, "needs query, key and value that are one tensor"),
        ({"num_heads": 1}, "same", None, "needs an even number of heads, got 1"),
        ({"bias": False}, "same", None, "needs biases"),
        ({"batch_first": False}, "same", None, "needs batch_first"),
        ({}, "same", interlock.zeros(3, 3), "needs masks of bools"),
    ],
)
def test_layer_records_what_the_fast_path_needs(
    changed: dict[str, Any], operands: str, mask: Tensor | None, reason: str
) -> None:
    options: dict[str, Any] = {"embed_dim": 8, "num_heads": 2, "batch_first": True}
    layer, x = nn.MultiheadAttention(**(options | changed)).eval(), interlock.ones(3, 3, 8)
    others = (x.clone(), x.clone()) if operands == "copy" else (x, x)
    with interlock.no_grad(), dispatch.record() as calls:
        layer(x, *others, need_weights=False, attn_mask=mask)
    assert (calls[-1].kernel, str(calls[-1].considered[0].reason)) == ("composed", reason)


def test_causal_hint_of_the_layer_equals_its_mask() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = interlock.tensor(np.random.default_rng(2).random((1, 3, 8), np.float32))
    mask = interlock.ones(3, 3, dtype=interlock.bool).triu(1)
    masked, hinted = (
        layer(x, x, x, need_weights=False, attn_mask=mask, is_causal=is_causal)[0]
        for is_causal in (False, True)
    )
    assert hinted.allclose(masked, rtol=1e-5, atol=1e-6)


def test_layer_has_the_parameters_of_pytorch() -> None:
    layer = nn.MultiheadAttention(8, 2)
    shapes = {name: tensor.shape for name, tensor in layer.named_parameters()}
    assert shapes == {
        "in_proj_weight": (24, 8),
        "in_proj_bias": (24,),
        "out_proj.weight": (8, 8),
        "out_proj.bias": (8,),
    }
    assert all(isinstance(tensor, nn.Parameter) and tensor.requires_grad for tensor in layer.parameters())
    assert float(layer.in_proj_weight.detach().abs().max()) <= (6 / 32) ** 0.5
    assert layer.train() is layer
    assert layer.training
    other = nn.MultiheadAttention(8, 2, bias=False)
    assert [name for name, _ in other.named_parameters()] == ["in_proj_weight", "out_proj.weight"]
    with pytest.raises(errors.ArgumentError, match=r"^load_state_dict: state_dict must have the names"):
        other.load_state_dict(layer.state_dict())
    copy = nn.MultiheadAttention(8, 2)
    copy.load_state_dict(layer.state_dict())
    assert copy.in_proj_weight.tolist() == layer.in_proj_weight.tolist()
    assert copy.in_proj_weight.requires_grad


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed_dim": 0}, r"embed_dim must be from 1 to 2\*\*29, got 0"),
        ({"num_heads": 3}, "num_heads must divide embed_dim, 8, got 3"),
        ({"dropout": 0.1}, "dropout must be 0.0, got 0.1"),
        ({"kdim": 4}, "kdim must be 8, got 4"),
        ({"add_zero_attn": True}, "add_zero_attn must be False, got True"),
    ],
)
def test_layer_refuses_what_it_does_not_have(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"embed_dim": 8, "num_heads": 2}
    with pytest.raises(errors.ArgumentError, match=f"^MultiheadAttention: {message}$"):
        nn.MultiheadAttention(**arguments | options)


def test_layer_checks_its_arguments() -> None:
    layer, x = nn.MultiheadAttention(8, 2), interlock.ones(3, 8)
    with pytest.raises(errors.ShapeError, match=r"^MultiheadAttention: key must be of shape"):
        layer(x, interlock.ones(3, 4), x)
    with pytest.raises(errors.ShapeError, match=r"^MultiheadAttention: attn_mask must be of shape"):
        layer(x, x, x, attn_mask=interlock.ones(2, 2))
    with pytest.raises(errors.ArgumentError, match=r"^MultiheadAttention: attn_mask must be a causal mask"):
        layer(x, x, x, is_causal=True)
    with pytest.raises(TypeError, match=r"^MultiheadAttention: need_weights must be a bool"):
        layer(x, x, x, need_weights=1)  # type: ignore[arg-type]
