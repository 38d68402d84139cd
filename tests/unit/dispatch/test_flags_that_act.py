"""Every flag changes what an operation does, but for a list that only shrinks."""

from __future__ import annotations

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import accelerator, backends, dispatch, nn
from interlock._core.backends import table
from interlock.nn import functional

# The flags that only registered kernels obey, by what PyTorch reads them for. interlock's devices are of
# compute capability 8.0.
PYTHON_KERNELS = "kernels that are registered from Python"
REGISTERED_KERNELS = {
    "ROCm": ["miopen.immediate", "cuda.rocm_fa_library"],
    "Intel GPUs": ["mkldnn.allow_tf32"],
    "grouped products on GPUs of compute capability 9 to 11": ["cuda.matmul.prefer_cublaslt_grouped_gemm"],
    "a library inside its own build, NNPACK": ["nnpack.enabled"],
    PYTHON_KERNELS: [
        "python_native.cutedsl.enabled",
        "python_native.flydsl.enabled",
        "python_native.helion.enabled",
        "python_native.python.enabled",
        "python_native.triton.enabled",
        "python_native.disabled_operations",
        "python_native.disabled_dispatch_keys",
    ],
}
LISTED = [name for names in REGISTERED_KERNELS.values() for name in names]
# The values with which no kernel that is registered from Python serves a product on the CPU.
REFUSING: dict[str, Any] = {
    "python_native.python.enabled": False,
    "python_native.disabled_operations": "matmul",
    "python_native.disabled_dispatch_keys": "CPU",
}


def on(device: str) -> Callable[[], object]:
    """Return a function that observes products on a device.

    It returns a product of float32 with the order of its kernels and its peak memory, and long products
    of halves.
    """

    def half_product(dtype: interlock.dtype) -> str:
        # The sum of the first half is rounded to 256 in bfloat16, and large sums are rounded in float16.
        terms = interlock.tensor([1.0] * 257 + [2048.0] * 767 + [-2048.0] * 767 + [0.0] * 257, device=device)
        return repr((terms.to(dtype) @ interlock.ones(2048, dtype=dtype, device=device)).item())

    def observe() -> object:
        x = interlock.tensor([[1.0 + 3.0 / 4096.0]], device=device)
        explained = dispatch.explain("matmul", x, x)
        if device != "cpu":
            accelerator.reset_peak_memory_stats(device)
        product = (x @ interlock.ones(1, 1, device=device)).item()
        peak = 0 if device == "cpu" else accelerator.max_memory_allocated(device)
        halves = [half_product(interlock.float16), half_product(interlock.bfloat16)]
        return product, [one.kernel for one in explained.considered], peak, halves

    return observe


def factorization_on(device: str) -> Callable[[], object]:
    """Return a function that observes the order of the kernels of a factorization on a device."""

    def observe() -> object:
        explained = dispatch.explain("cholesky", interlock.eye(2, device=device))
        return [str(one) for one in explained.considered]

    return observe


def quantized_on(device: str) -> Callable[[], object]:
    """Return a function that observes the choice of a kernel for a quantized linear layer on a device."""
    ones = interlock.ones(1, 1, device=device)
    x = interlock.quantize_per_tensor(ones, 1.0, 0, interlock.quint8)
    weight = interlock.quantize_per_tensor(ones, 1.0, 0, interlock.qint8)
    return lambda: dispatch.explain("quantized_linear", x, weight).kernel


def attention_on(device: str) -> Callable[[], object]:
    """Return a function that observes attentions on a device.

    It returns the kernel of attentions with several dtypes, one of which overflows in float16, and of a layer
    with the number of its products.
    """

    def attention(dtype: interlock.dtype) -> object:
        x = interlock.full((1, 1, 2, 64), 100.0, dtype=dtype, device=device)
        explained = dispatch.explain("scaled_dot_product_attention", x, x, x)
        if explained.kernel is None:
            return None
        return explained.kernel, str(functional.scaled_dot_product_attention(x, x, x).tolist())

    layer = nn.MultiheadAttention(4, 2, batch_first=True, device=device).eval()

    def observe() -> object:
        kernels = [attention(dtype) for dtype in (interlock.float16, interlock.float32)]
        if None in kernels:
            return kernels
        with dispatch.record() as calls, interlock.no_grad():
            x = interlock.ones(1, 2, 4, device=device)
            layer(x, x, x)
        return kernels, calls[-1].kernel, len(calls)

    return observe


def test_recorded_attention_is_that_of_the_explanation() -> None:
    observed: Any = attention_on("cpu")()
    assert observed[1:] == ("fastpath", 5), "two products, two with weights, and the layer"
    assert [kernel for kernel, _ in observed[0]] == ["flash", "flash"]


def recurrent_on(device: str) -> Callable[[], object]:
    """Return a function that observes the state of a recurrent layer on a device."""
    x = interlock.full((1, 1, 1), 1.0 + 3.0 / 4096.0, device=device)
    state, weight = x * 0, x[0].expand(4, 1)

    def observe() -> object:
        return interlock.lstm(x, (state, state), (weight, weight), False, 1, 0.0, False, False, False)[
            0
        ].item()

    return observe


def contractions() -> object:
    """Return the record of an einsum, whose best order is not that of its operands."""
    # The strategies "auto", which is "optimal" here, and "greedy" find different orders.
    shapes = [(8, 8), (8, 2), (2, 6), (6, 9), (9, 8)]
    with dispatch.record() as calls:
        interlock.einsum("ab,bc,cd,de,ef->af", *[interlock.ones(*shape) for shape in shapes])
    return [str(call) for call in calls]


def writes_without_order() -> object:
    """Return the kernels of an addition and an assignment at positions, and an uninitialized tensor."""
    x, index = interlock.zeros(2), interlock.tensor([0, 0])
    with dispatch.record() as calls, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        x.index_add(0, index, interlock.ones(2))
        with contextlib.suppress(RuntimeError):
            x.put(index, interlock.ones(2))
        elements = interlock.empty(1).tolist()
    return [call.kernel for call in calls], len(warned), str(elements)


# From this number on a kernel that adds atomically serves, too.
IMAGES = itertools.count(4)


def convolution_on(device: str, groups: int = 1) -> Callable[[], object]:
    """Return a function that observes a convolution and its gradients on a device.

    It returns an element of the output, and for each pass the kernel, or how many kernels were measured.
    """
    w = interlock.full((32, 32 // groups, 3, 3), 1.0, device=device)

    def kernel(call: dispatch.Call) -> object:
        measured = re.match("tried [0-9]+ of [0-9]+", call.notes[0]) if call.notes else None
        return measured[0] if measured else call.kernel

    def observe() -> object:
        # Another number of images: the measurement of an earlier call is kept.
        x = interlock.full((next(IMAGES), 32, 9, 8), 1.0 + 3.0 / 4096.0, device=device)
        operands = [tensor.detach().requires_grad_() for tensor in (x, w)]
        with dispatch.record() as calls:
            out = interlock.conv2d(operands[0], operands[1], groups=groups)
            out.sum().backward()
        passes = [kernel(call) for call in calls if call.operation == "conv2d" and call.composite is None]
        return out[0, 0, 0, 0].item(), passes

    return observe


# For each flag that an operation obeys: the device, the other flags, and a value that changes the result.
MODEL: dict[str, Any] = {"mkldnn.numerics": "model"}
BF16_MODEL: dict[str, Any] = MODEL | {"mkldnn.matmul.fp32_precision": "bf16"}
FLIPS: dict[str, tuple[str, Any, Any]] = {
    "fp32_precision": ("device", {}, "tf32"),
    "cudnn.fp32_precision": ("device", {}, "tf32"),
    "cuda.matmul.fp32_precision": ("device", {}, "tf32"),
    "cuda.matmul.allow_tf32": ("device", {}, True),
    "cuda.blas_library": ("device", {}, "cublaslt"),
    "cuda.cublas_workspace": ("device", {}, 1 << 20),
    "cuda.cublaslt_workspace": ("device", {"cuda.blas_library": "cublaslt"}, 1 << 21),
    "cuda.matmul.allow_fp16_reduced_precision_reduction": ("device", {}, False),
    "cuda.matmul.allow_bf16_reduced_precision_reduction": ("device", {}, False),
    "cuda.matmul.allow_fp16_accumulation": (
        "device",
        {"cuda.matmul.allow_fp16_reduced_precision_reduction": False},
        True,
    ),
    "mkldnn.fp32_precision": ("cpu", MODEL, "bf16"),
    "mkldnn.matmul.fp32_precision": ("cpu", MODEL, "tf32"),
    "mkldnn.enabled": ("cpu", BF16_MODEL, False),
    "mkldnn.numerics": ("cpu", {"mkldnn.matmul.fp32_precision": "bf16"}, "model"),
    "deterministic_algorithms": ("order", {}, True),
    "deterministic_algorithms_warn_only": ("order", {"deterministic_algorithms": True}, True),
    "deterministic_fill_uninitialized_memory": ("order", {"deterministic_algorithms": True}, False),
    "opt_einsum.enabled": ("einsum", {}, False),
    "opt_einsum.strategy": ("einsum", {}, "greedy"),
}


def first(kernel: str) -> tuple[str, ...]:
    """Return an order of the kernels of attention."""
    names = ("flash_attention", "efficient_attention", "math", "cudnn_attention", "overrideable")
    return (kernel, *(name for name in names if name != kernel))


# For each flag of attention: the device, the other flags, and a value that changes the result.
ATTENTION_FLIPS: dict[str, tuple[str, Any, Any]] = {
    "cuda.flash_sdp": ("device", {}, False),
    "cuda.mem_efficient_sdp": ("device", {}, False),
    "cuda.math_sdp": ("device", {"cuda.sdp_priority": first("math")}, False),
    "cuda.cudnn_sdp": ("device", {"cuda.sdp_priority": first("cudnn_attention")}, False),
    "cuda.sdp_priority": ("device", {}, first("math")),
    "cuda.fp16_bf16_reduction_math_sdp": ("cpu", {"cuda.flash_sdp": False}, True),
    "mha.fastpath": ("cpu", {}, False),
}


BF16_CONV: dict[str, Any] = MODEL | {"mkldnn.conv.fp32_precision": "bf16"}
# For each flag of convolutions: the device, the other flags, and a value that changes the result. The
# convolution on "depthwise" has a group for each channel, on a device.
CONVOLUTION_FLIPS: dict[str, tuple[str, Any, Any]] = {
    "cudnn.enabled": ("device", {}, False),
    "cudnn.benchmark": ("device", {}, True),
    "cudnn.benchmark_limit": ("device", {"cudnn.benchmark": True}, 1),
    "cudnn.deterministic": ("device", {}, True),
    "cudnn.depthwise_kernel": ("depthwise", {}, "cudnn"),
    "cudnn.allow_tf32": ("device", {}, False),
    "cudnn.conv.fp32_precision": ("device", {}, "ieee"),
    "mkldnn.conv.fp32_precision": ("cpu", MODEL, "bf16"),
    "mkldnn.deterministic": ("cpu", BF16_CONV, True),
}
# For each flag of recurrent layers: the device, the other flags, and a value that changes the result.
RECURRENT_FLIPS: dict[str, tuple[str, Any, Any]] = {
    "cudnn.rnn.fp32_precision": ("device", {}, "ieee"),
    "mkldnn.rnn.fp32_precision": ("cpu", MODEL, "bf16"),
}
# For each flag of factorizations: the device, the other flags, and a value that changes the choice.
LINALG_FLIPS: dict[str, tuple[str, Any, Any]] = {"cuda.linalg_library": ("device", {}, "magma")}
# For the flag of quantized operations: the device, the other flags, and a value that changes the choice.
QUANTIZED_FLIPS: dict[str, tuple[str, Any, Any]] = {"quantized.engine": ("cpu", {}, "none")}
OBSERVERS = (
    (FLIPS, on),
    (ATTENTION_FLIPS, attention_on),
    (CONVOLUTION_FLIPS, convolution_on),
    (RECURRENT_FLIPS, recurrent_on),
    (LINALG_FLIPS, factorization_on),
    (QUANTIZED_FLIPS, quantized_on),
)
ALL_FLIPS = FLIPS | ATTENTION_FLIPS | CONVOLUTION_FLIPS | RECURRENT_FLIPS | LINALG_FLIPS | QUANTIZED_FLIPS


def writable() -> dict[str, list[str]]:
    """Return the operations that obey each writable flag, by the name of the flag."""
    return {flag["name"]: flag["obeyed_by"] for flag in table() if flag["accepts"] is not None}


def test_every_flag_is_obeyed_or_listed_with_a_reason() -> None:
    assert len(LISTED) == len(set(LISTED))
    assert set(LISTED) == {name for name, operations in writable().items() if not operations}
    assert set(LISTED) == {flag["name"] for flag in table() if flag["needs_registered_kernel"]}


@pytest.mark.parametrize("name", LISTED)
def test_listed_flag_is_obeyed_by_a_registered_kernel_only(name: str) -> None:
    x = interlock.ones(1, 1)
    value: Any = REFUSING.get(
        name, "ck" if name == "cuda.rocm_fa_library" else not backends.explain(name).value
    )
    changed: Any = {name: value}
    affects = backends.explain(name).affects
    assert affects.endswith(": no effect here, no kernel that obeys it is registered")
    requires = {} if name in REFUSING else changed
    with dispatch.register_kernel("matmul", "ten", lambda a, b: (a @ b) * 10, requires=requires):
        before, inside = (10.0, 1.0) if name in REFUSING else (1.0, 10.0)
        assert (x @ x).item() == before
        with backends.override(changed):
            assert (x @ x).item() == inside
        assert (x @ x).item() == before
        assert backends.explain(name).affects.endswith(": obeyed by matmul")
    assert backends.explain(name).affects == affects


def test_language_of_a_registered_kernel_is_a_flag() -> None:
    languages = {f"python_native.{name}.enabled" for name in backends.python_native.all_dsls}
    assert languages | REFUSING.keys() == set(REGISTERED_KERNELS[PYTHON_KERNELS])


def test_every_obeyed_flag_has_a_value_that_changes_a_result() -> None:
    assert len(ALL_FLIPS) == sum(len(flips) for flips, _ in OBSERVERS)
    assert set(ALL_FLIPS) == {name for name, operations in writable().items() if operations}


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.parametrize("name", ALL_FLIPS)
def test_flag_changes_the_result_or_the_choice(name: str, devices: tuple[str, ...]) -> None:
    device, others, value = ALL_FLIPS[name]
    changed: Any = {name: value}
    if device == "einsum":
        observe = contractions
    elif device == "order":
        observe = writes_without_order
    elif device == "depthwise":
        observe = convolution_on(devices[0], groups=32)
    else:
        (observer,) = (observer for flips, observer in OBSERVERS if name in flips)
        observe = observer("cpu" if device == "cpu" else devices[0])
    with backends.override(others):
        before = observe()
        with backends.override(changed):
            assert observe() != before
        assert observe() == before


def test_explain_names_the_operations_that_obey_a_flag() -> None:
    assert backends.explain("mkldnn.numerics").affects.endswith(": obeyed by conv2d, lstm, matmul")
    assert backends.explain("cudnn.benchmark").affects.endswith(": obeyed by conv2d")
    obeying = ": obeyed by conv2d, empty, index_add, index_put, matmul, put, scatter_add"
    assert backends.explain("deterministic_algorithms").affects.endswith(obeying)
    assert backends.explain("cudnn.deterministic").affects.endswith(": obeyed by conv2d")
    assert backends.explain("quantized.engine").affects.endswith(": obeyed by quantized_linear")


def test_product_with_all_flags_at_their_defaults_is_exact() -> None:
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    eye = interlock.tensor(np.eye(8, dtype=np.float32))
    assert np.array_equal((interlock.tensor(x) @ eye).numpy(), x)
