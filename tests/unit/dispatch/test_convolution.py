"""Convolutions: which kernel runs them under the flags of cuDNN and oneDNN, and what the kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Stream, Tensor, accelerator, backends, dispatch
from interlock.accelerator import Graph
from interlock.backends import cudnn
from interlock.backends._flag_types import Flags

pytestmark = pytest.mark.usefixtures("host_accessible_memory")

BF16_ON_CPU: Flags = {"mkldnn.numerics": "model", "mkldnn.conv.fp32_precision": "bf16"}
# A number between two of TensorFloat-32, and two of bfloat16.
ODD = 1.0 + 3.0 / 4096.0


@pytest.fixture
def device(devices: tuple[str, ...]) -> str:
    return devices[0]


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def leaves(device: str, *arrays: np.ndarray, dtype: interlock.dtype = interlock.float32) -> list[Tensor]:
    return [interlock.tensor(array, device=device, dtype=dtype, requires_grad=True) for array in arrays]


def passes(device: str, groups: int = 1, **options: Any) -> tuple[list[np.ndarray], list[dispatch.Call]]:
    """Return an output with the gradients of its operands, and the records of the three convolutions."""
    x, w, b = leaves(device, draw(8, 16, 10, 9), draw(16, 16 // groups, 3, 3, seed=1), draw(16), **options)
    with dispatch.record() as calls:
        out = interlock.conv2d(x, w, b, padding=1, groups=groups)
        (out * out).sum().backward()
    results = [out.detach(), *(leaf.grad for leaf in (x, w, b))]
    arrays = [result.float().cpu().numpy() for result in results if result is not None]
    return arrays, [call for call in calls if call.operation == "conv2d" and call.composite is None]


def kernels(calls: list[dispatch.Call]) -> list[str | None]:
    return [call.kernel for call in calls]


def error(results: list[np.ndarray], exact: list[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest number of each result."""
    pairs = zip(results, exact, strict=True)
    return max(float(np.abs(own - other).max() / np.abs(other).max()) for own, other in pairs)


def test_cudnn_enabled_moves_convolutions_from_tf32_to_the_products(device: str) -> None:
    exact, on_cpu = passes("cpu")
    assert kernels(on_cpu) == ["native"] * 3
    rounded, calls = passes(device)
    assert kernels(calls) == ["cudnn", "cudnn", "cudnn_atomic"]
    assert all(call.is_model and call.inputs == "tf32" for call in calls)
    assert 1e-4 < error(rounded, exact) < 1e-3
    with backends.override({"cudnn.enabled": False}):
        plain, calls = passes(device)
        assert kernels(calls) == ["im2col"] * 3
        assert error(plain, exact) < 1e-6
        with backends.override({"cuda.matmul.fp32_precision": "tf32"}):
            again, _ = passes(device)
    assert 1e-4 < error(again, exact) < 1e-3


def test_cudnn_flags_scope_sets_kernel_and_precision(device: str) -> None:
    with cudnn.flags(enabled=True, allow_tf32=False, deterministic=True):
        results, calls = passes(device)
    assert kernels(calls) == ["cudnn"] * 3
    assert [call.inputs for call in calls] == ["float32"] * 3
    assert error(results, passes("cpu")[0]) < 1e-6
    with cudnn.flags():
        assert kernels(passes(device)[1]) == ["im2col"] * 3


def test_convolution_with_a_filter_of_one_returns_the_rounded_image(device: str) -> None:
    x, one = interlock.full((1, 1, 3, 3), ODD), interlock.ones(1, 1, 1, 1)
    assert interlock.conv2d(x, one).tolist() == x.tolist()
    with backends.override(BF16_ON_CPU):
        assert interlock.conv2d(x, one)[0, 0, 0, 0].item() == 1.0
    there = interlock.conv2d(x.to(device), one.to(device))[0, 0, 2, 2].item()
    # The nearest number with 10 bits of mantissa.
    assert there == 1.0 + 4.0 / 4096.0


def test_deterministic_refuses_the_unordered_gradient_of_weights(device: str) -> None:
    with backends.override({"cudnn.deterministic": True}):
        runs = [passes(device)[0] for _ in range(5)]
        refused = {one.kernel: str(one.reason) for one in passes(device)[1][2].considered}
    assert refused["cudnn_atomic"] == "backends.cudnn.deterministic is True"
    assert all(np.array_equal(own, first) for run in runs for own, first in zip(run, runs[0], strict=True))
    with backends.override({"deterministic_algorithms": True}):
        weight = passes(device)[1][2]
    refused = {one.kernel: str(one.reason) for one in weight.considered}
    assert weight.kernel == "cudnn"
    assert refused["cudnn_atomic"] == "backends.deterministic_algorithms is True"
    with backends.override(BF16_ON_CPU):
        assert kernels(passes("cpu")[1]) == ["mkldnn", "mkldnn", "mkldnn_atomic"]
        with backends.override({"mkldnn.deterministic": True}):
            assert kernels(passes("cpu")[1]) == ["mkldnn"] * 3
        with backends.override({"mkldnn.enabled": False}):
            assert kernels(passes("cpu")[1]) == ["native"] * 3


def test_benchmark_tries_kernels_once_and_keeps_one(device: str) -> None:
    x, w = interlock.ones(2, 3, 7, 5, device=device), interlock.ones(4, 3, 3, 2, device=device)

    def notes(**flags: Any) -> tuple[list[tuple[str, ...]], int]:
        with cudnn.flags(enabled=True, **flags), dispatch.record() as calls:
            interlock.conv2d(x, w)
        tried = [call for call in calls if call.composite == "cudnn.benchmark"]
        return [call.notes for call in calls if call.composite is None], len(tried)

    assert notes() == ([()], 0)
    first, runs = notes(benchmark=True)
    assert first[0][0].startswith("tried 2 of 2, kept ")
    assert runs == 4, "each is run once before it is measured"
    again, runs = notes(benchmark=True)
    assert (again, runs) == ([(first[0][0] + ", cached",)], 0)
    assert notes(benchmark=True, deterministic=True) == ([()], 0)


def test_benchmark_limit_limits_the_kernels_that_are_tried(device: str) -> None:
    x, w = interlock.ones(2, 3, 6, 6, device=device), interlock.ones(4, 3, 3, 2, device=device)
    with cudnn.flags(enabled=True, benchmark=True, benchmark_limit=1), dispatch.record() as calls:
        interlock.conv2d(x, w)
    assert calls[-1].notes == ("tried 1 of 2, kept cudnn",)


def test_benchmark_measures_nothing_while_a_stream_captures(device: str) -> None:
    x, w = interlock.ones(2, 3, 5, 9, device=device), interlock.ones(4, 3, 3, 2, device=device)
    graph, stream = Graph(), Stream(device)
    accelerator.synchronize(device)
    with cudnn.flags(enabled=True, benchmark=True), dispatch.record() as calls, stream, graph:
        out = interlock.conv2d(x, w)
    assert [(call.kernel, call.notes) for call in calls] == [
        ("cudnn", ("not measured: the stream captures a graph",))
    ]
    x.mul_(2)
    graph.replay()
    accelerator.synchronize(device)
    assert out[0, 0, 0, 0].item() == 36.0


@pytest.mark.parametrize("enabled", [True, False])
def test_captured_passes_replay_with_the_flags_of_the_capture(device: str, enabled: bool) -> None:
    x, w = leaves(device, draw(8, 16, 10, 9), draw(16, 16, 3, 3, seed=1))
    options: Flags = {"cudnn.enabled": enabled, "cudnn.deterministic": True}

    def step() -> tuple[Tensor, ...]:
        out = interlock.conv2d(x, w, stride=2)
        return (out.detach(), *interlock.autograd.grad((out * out).sum(), (x, w)))

    with backends.override(options):
        expected = [result.cpu().numpy() for result in step()]
        graph, stream = Graph(), Stream(device)
        accelerator.synchronize(device)
        with stream, graph:
            results = step()
    graph.replay()
    accelerator.synchronize(device)
    for result, array in zip(results, expected, strict=True):
        assert np.array_equal(result.cpu().numpy(), array)


def test_depthwise_kernel_chooses_the_native_loops_or_cudnn(device: str) -> None:
    exact, _ = passes("cpu", groups=16)
    native, calls = passes(device, groups=16)
    assert kernels(calls) == ["native"] * 3
    assert error(native, exact) < 1e-6
    with backends.override({"cudnn.depthwise_kernel": "cudnn"}):
        rounded, calls = passes(device, groups=16)
        assert {call.inputs for call in calls} == {"tf32"}
        assert 1e-5 < error(rounded, exact) < 1e-3
        with backends.override({"cudnn.enabled": False}):
            assert kernels(passes(device, groups=16)[1]) == ["native"] * 3


def test_auto_depthwise_runs_halves_of_usual_sizes_on_cudnn(device: str) -> None:
    def kernel(channels: int, dtype: interlock.dtype, **options: Any) -> str | None:
        x = interlock.ones(2, channels, 8, 8, dtype=dtype, device=device)
        w = interlock.ones(channels, 1, 3, 3, dtype=dtype, device=device)
        return dispatch.explain("conv2d", x, w, groups=channels, **options).kernel

    for half in (interlock.float16, interlock.bfloat16):
        assert kernel(32, half) == "cudnn"
        assert kernel(16, half) == "native"
        assert kernel(32, half, dilation=2) == "native"
        with backends.override({"cudnn.depthwise_kernel": "native"}):
            assert kernel(32, half) == "native"
    assert kernel(32, interlock.float32) == "native"


@pytest.mark.parametrize("enabled", [True, False])
def test_halves_are_rounded_once(device: str, enabled: bool) -> None:
    x, w, b = (draw(2, 4, 6, 6), draw(3, 4, 3, 3, seed=1), draw(3))
    for dtype in (interlock.float16, interlock.bfloat16):
        halves = leaves(device, x, w, b, dtype=dtype)
        with backends.override({"cudnn.enabled": enabled}):
            out = interlock.conv2d(halves[0], halves[1], halves[2])
        wide = [half.detach().cpu().double() for half in halves]
        exact = interlock.conv2d(wide[0], wide[1], wide[2]).to(dtype)
        assert out.dtype == dtype
        difference = (out.detach().cpu().double() - exact.double()).abs() / exact.double().abs()
        assert difference.max().item() < (2e-3 if dtype == interlock.float16 else 1e-2)


def test_scratch_memory_belongs_to_the_allocator_of_the_device(device: str) -> None:
    x, w = interlock.ones(2, 8, 16, 16, device=device), interlock.ones(4, 8, 3, 3, device=device)

    def peak(run: Callable[[], object]) -> int:
        accelerator.synchronize(device)
        before = accelerator.memory_allocated(device)
        accelerator.reset_peak_memory_stats(device)
        run()
        return accelerator.max_memory_allocated(device) - before

    with backends.override({"cudnn.benchmark": False}):
        patches = 8 * 9 * 14 * 14 * 4
        fused = peak(lambda: interlock.conv2d(x, w))
        with backends.override({"cudnn.enabled": False, "cuda.cublas_workspace": 0}):
            explicit = peak(lambda: interlock.conv2d(x, w))
    assert patches <= fused < 2 * patches < explicit


def test_explain_takes_the_arguments_of_the_operation() -> None:
    x, w = interlock.ones(1, 4, 6, 6), interlock.ones(2, 2, 3, 3)
    call = dispatch.explain("conv2d", x, w, stride=(2, 1), padding="valid", groups=2)
    assert call.arguments == "cpu float32 1x4x6x6 * 2x2x3x3, stride 2x1, groups 2"
    assert [one.kernel for one in call.considered] == [
        *("cudnn_atomic", "cudnn", "direct", "mkldnn_atomic", "mkldnn", "onednn", "native", "im2col")
    ]
    with pytest.raises(interlock.errors.ShapeError):
        dispatch.explain("conv2d", x, w)
    with pytest.raises(TypeError):
        dispatch.explain("conv2d", x, w, strides=2)  # type: ignore[call-overload]
