"""Products round their float32 inputs as the precision nodes request, and only where they do."""

from __future__ import annotations

import threading
from collections.abc import Callable

import interlock
import numpy as np
import numpy.typing as npt
import pytest
from interlock import Stream, Tensor, accelerator, backends, dispatch
from interlock.accelerator import Graph
from interlock.backends._flag_types import Flags
from interlock.nn import functional

from tests.helpers.gate import Gate
from tests.helpers.subprocess import eval_program

pytestmark = pytest.mark.usefixtures("host_accessible_memory")

Bits = npt.NDArray[np.uint32]
BFX9_MATMUL: Flags = {"cuda.matmul.fp32_precision": "bfx9"}
TF32_MATMUL: Flags = {"cuda.matmul.fp32_precision": "tf32"}
BF16_ON_CPU: Flags = {"mkldnn.numerics": "model", "mkldnn.matmul.fp32_precision": "bf16"}


def numbers(seed: int = 0, shape: tuple[int, ...] = (16, 16)) -> npt.NDArray[np.float32]:
    """Return random numbers of many magnitudes."""
    draw = np.random.default_rng(seed)
    return (draw.standard_normal(shape) * 2.0 ** draw.integers(-20, 20, shape)).astype(np.float32)


def rounded(values: npt.NDArray[np.float32], dropped: int) -> npt.NDArray[np.float32]:
    """Round to the nearest number without the lowest `dropped` bits; the values are never ties."""
    bits = values.view(np.uint32).astype(np.uint64)
    half = np.uint64(1 << (dropped - 1))
    assert not np.any(bits % (1 << dropped) == half)
    kept = (bits + half) >> np.uint64(dropped) << np.uint64(dropped)
    return kept.astype(np.uint32).view(np.float32)


def to_tf32(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return rounded(values, 13)


def to_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return rounded(values, 16)


def bits(tensor: Tensor) -> Bits:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float32).view(np.uint32)


def eye_like(x: Tensor) -> Tensor:
    return interlock.tensor(np.eye(x.shape[-1], dtype=np.float32), device=x.device)


def times_eye(x: Tensor) -> Tensor:
    return x @ eye_like(x)


def same(tensor: Tensor, expected: npt.NDArray[np.float32]) -> bool:
    return bool(np.array_equal(bits(tensor), expected.view(np.uint32)))


def test_product_on_a_device_is_exact_at_the_defaults(devices: tuple[str, ...]) -> None:
    x = numbers()
    assert same(times_eye(interlock.tensor(x, device=devices[0])), x)


def test_product_on_a_device_rounds_its_inputs_to_tf32(devices: tuple[str, ...]) -> None:
    x = numbers()
    with backends.override(TF32_MATMUL):
        y = times_eye(interlock.tensor(x, device=devices[0]))
    assert same(y, to_tf32(x))


def error_of(product: Tensor, a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> float:
    """Return the largest distance from the product in float64, relative to the sum of |a| |b|."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.max(np.abs(product.cpu().numpy() - exact) / (np.abs(a) @ np.abs(b))))


def test_bfx9_on_a_device_is_as_exact_as_float32(devices: tuple[str, ...]) -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.standard_normal(shape).astype(np.float32) for shape in ((3, 64, 512), (512, 64)))
    x, y = (interlock.tensor(operand, device=devices[0]) for operand in (a, b))
    errors = {}
    for precision in ("ieee", "bfx9", "tf32"):
        with backends.override({"cuda.matmul.fp32_precision": precision}):
            errors[precision] = error_of(x @ y, a, b)
    assert errors["bfx9"] < 3 * errors["ieee"] < 1e-6
    assert errors["tf32"] > 30 * errors["bfx9"]


def test_bfx9_multiplies_bfloat16_parts(devices: tuple[str, ...]) -> None:
    x = numbers()
    tiny = interlock.tensor([[2.0**-140, 2.0**-100]], device=devices[0])
    with backends.override(BFX9_MATMUL), dispatch.record() as calls:
        assert same(times_eye(interlock.tensor(x, device=devices[0])), x), "three parts have all bits"
        assert times_eye(tiny).tolist() == [[0.0, 2.0**-100]], "bfloat16 numbers end at 2 ** -133"
        assert times_eye(tiny.cpu()).tolist() == [[2.0**-140, 2.0**-100]]
    assert times_eye(tiny).tolist() == [[2.0**-140, 2.0**-100]]
    assert [(call.kernel, call.inputs) for call in calls] == [
        ("cublas", "bfx9"),
        ("cublas", "bfx9"),
        ("native", "float32"),
    ]
    assert str(calls[0]).startswith(
        f"matmul {devices[0]} float32 16x16 @ 16x16 -> cublas (model), inputs bfx9"
    )


def test_bfx9_keeps_infinities_and_nan(devices: tuple[str, ...]) -> None:
    a = interlock.tensor([[np.inf, 1.0], [np.nan, 1.0], [-np.inf, 1.0]], device=devices[0])
    b = interlock.tensor([[1.0 + 2**-20], [3.0]], device=devices[0])
    with backends.override(BFX9_MATMUL):
        assert str((a @ b).tolist()) == "[[inf], [nan], [-inf]]"
        largest = interlock.full((1, 1), float(np.finfo(np.float32).max), device=devices[0])
        assert same(times_eye(largest), largest.cpu().numpy())


def test_bfx9_acts_on_gradients_queued_work_and_composites(devices: tuple[str, ...]) -> None:
    x = interlock.full((2, 2), 2.0**-140, device=devices[0], requires_grad=True)
    eye = interlock.eye(2, device=devices[0])
    with backends.override(BFX9_MATMUL):
        out = functional.linear(x, eye)
        (gradient,) = interlock.autograd.grad((x @ eye).sum(), x)
    assert out.tolist() == [[0.0, 0.0]] * 2
    assert gradient.tolist() == [[1.0, 1.0]] * 2


@pytest.mark.parametrize(
    "flags",
    [
        {"cuda.matmul.allow_tf32": True},
        {"fp32_precision": "tf32"},
        {"cudnn.fp32_precision": "tf32"},
        {"fp32_precision": "bf16", "cuda.matmul.fp32_precision": "tf32"},
    ],
)
def test_older_names_and_parent_nodes_decide_products_too(devices: tuple[str, ...], flags: Flags) -> None:
    x = numbers()
    with backends.override(flags):
        assert same(times_eye(interlock.tensor(x, device=devices[0])), to_tf32(x))


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("precision", "on_device", "on_cpu"),
    [("highest", None, None), ("high", to_tf32, to_tf32), ("medium", to_tf32, to_bf16)],
)
def test_set_float32_matmul_precision_decides_products(
    devices: tuple[str, ...],
    precision: str,
    on_device: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]] | None,
    on_cpu: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]] | None,
) -> None:
    x = numbers()
    interlock.set_float32_matmul_precision(precision)  # type: ignore[arg-type]
    assert same(times_eye(interlock.tensor(x, device=devices[0])), on_device(x) if on_device else x)
    assert same(times_eye(interlock.tensor(x)), x), "the kernels of the CPU compute in float32"
    with backends.override({"mkldnn.numerics": "model"}):
        assert same(times_eye(interlock.tensor(x)), on_cpu(x) if on_cpu else x)


def test_product_on_the_cpu_obeys_oneDNN_under_the_model_only() -> None:
    x = numbers()
    with backends.override({"mkldnn.matmul.fp32_precision": "bf16"}):
        assert same(times_eye(interlock.tensor(x)), x)
        with backends.override({"mkldnn.numerics": "model"}):
            assert same(times_eye(interlock.tensor(x)), to_bf16(x))
            with backends.override({"mkldnn.enabled": False}):
                assert same(times_eye(interlock.tensor(x)), x)


def test_flags_of_devices_and_of_the_cpu_are_separate(devices: tuple[str, ...]) -> None:
    x = numbers()
    with backends.override(TF32_MATMUL | {"mkldnn.numerics": "model"}):
        assert same(times_eye(interlock.tensor(x)), x)
    with backends.override(BF16_ON_CPU):
        assert same(times_eye(interlock.tensor(x, device=devices[0])), x)


@pytest.mark.parametrize("dtype", [interlock.float64, interlock.int64])
def test_other_dtypes_are_not_rounded(devices: tuple[str, ...], dtype: interlock.dtype) -> None:
    odd = (1 << 20) + 1
    with backends.override(TF32_MATMUL | BF16_ON_CPU):
        for device in ("cpu", devices[0]):
            x = interlock.tensor([[odd]], dtype=dtype, device=device)
            assert (x @ interlock.ones(1, 1, dtype=dtype, device=device)).item() == odd


def test_special_numbers_survive(devices: tuple[str, ...]) -> None:
    special = [[float("inf"), 0.0], [1e-42, float("-inf")]]
    x = interlock.tensor(special, device=devices[0])
    ones = interlock.tensor([[1.0], [1.0]], device=devices[0])
    with backends.override(TF32_MATMUL):
        assert (x[0:1] @ ones).item() == float("inf")
        assert (x[1:2] @ ones).item() == float("-inf")
        nan = interlock.tensor([[float("nan")]], device=devices[0])
        assert np.isnan((nan @ nan).item())


PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "matmul": lambda x, y: interlock.matmul(x, y),
    "mm": lambda x, y: interlock.mm(x, y),
    "bmm": lambda x, y: interlock.bmm(x.unsqueeze(0), y.unsqueeze(0)).squeeze(0),
    "addmm": lambda x, y: interlock.addmm(interlock.zeros(1, device=x.device), x, y),
    "linear": lambda x, y: functional.linear(x, y.t()),
    "vector": lambda x, y: interlock.stack([row @ y for row in x]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_rounds_forward_and_backward(devices: tuple[str, ...], name: str) -> None:
    left, right = numbers(1, (4, 6)), numbers(2, (6, 3))
    x = interlock.tensor(left, device=devices[0], requires_grad=True)
    y = interlock.tensor(right, device=devices[0], requires_grad=True)
    with backends.override(TF32_MATMUL), dispatch.record() as calls:
        out = PRODUCTS[name](x, y)
        out.sum().backward()
    assert all(call.inputs == "tf32" for call in calls)
    products = [to_tf32(left).astype(np.float64), to_tf32(right).astype(np.float64)]
    gradient = np.ones((4, 3))
    assert x.grad is not None
    assert y.grad is not None
    for actual, factors in [
        (out, products),
        (x.grad, [gradient, products[1].T]),
        (y.grad, [products[0].T, gradient]),
    ]:
        # The sums are float32's: the difference is at most the depth times its rounding of each term.
        bound = 8 * 2.0**-23 * (abs(factors[0]) @ abs(factors[1]))
        difference = abs(actual.detach().cpu().numpy().astype(np.float64) - factors[0] @ factors[1])
        assert np.all(difference <= bound)


def test_gradient_obeys_the_flags_where_backward_runs(devices: tuple[str, ...]) -> None:
    x = interlock.tensor(numbers(), device=devices[0], requires_grad=True)
    weight = interlock.tensor(numbers(3), device=devices[0])
    with backends.override(TF32_MATMUL):
        loss = (x @ weight).sum()
    with dispatch.record() as calls:
        loss.backward()
    assert [call.inputs for call in calls] == ["float32"]


def test_flags_changed_after_queueing_do_not_change_the_work(devices: tuple[str, ...], gate: Gate) -> None:
    x = numbers()
    tensor = interlock.tensor(x, device=devices[0])
    eye, stream = eye_like(tensor), Stream(devices[0])
    accelerator.launch(stream, gate)
    with stream:
        exact = tensor @ eye
        with backends.override(TF32_MATMUL):
            queued = tensor @ eye
    assert not stream.query()
    gate.open()
    stream.synchronize()
    assert same(queued, to_tf32(x))
    assert same(exact, x)


@pytest.mark.usefixtures("restored")
def test_flags_assigned_by_another_thread_do_not_change_queued_work(
    devices: tuple[str, ...], gate: Gate
) -> None:
    x = numbers()
    tensor = interlock.tensor(x, device=devices[0])
    eye, stream = eye_like(tensor), Stream(devices[0])
    accelerator.launch(stream, gate)
    with stream:
        queued = tensor @ eye
    assert gate.begun.wait(20)
    thread = threading.Thread(target=lambda: setattr(backends.cuda.matmul, "fp32_precision", "tf32"))
    thread.start()
    thread.join()
    gate.open()
    stream.synchronize()
    assert same(queued, x)
    assert same(times_eye(tensor), to_tf32(x))


def test_replay_of_a_graph_computes_as_it_was_captured(devices: tuple[str, ...]) -> None:
    x = numbers()
    tensor = interlock.tensor(x, device=devices[0])
    eye, graph, stream = eye_like(tensor), Graph(), Stream(devices[0])
    accelerator.synchronize(devices[0])
    with backends.override(TF32_MATMUL), dispatch.record() as calls, stream, graph:
        captured = tensor @ eye
    assert [call.inputs for call in calls] == ["tf32"]
    with dispatch.record() as calls:
        graph.replay()
        accelerator.synchronize(devices[0])
    assert len(calls) == 0
    assert same(captured, to_tf32(x))


def test_preferred_blas_library_comes_first(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, device=devices[0])

    def kernels() -> list[str]:
        return [one.kernel for one in dispatch.explain("matmul", x, x).considered]

    assert kernels() == ["cublas", "cublaslt", "mkldnn", "onednn", "mkl", "native"]
    with backends.override({"cuda.blas_library": "cublaslt"}):
        assert kernels() == ["cublaslt", "cublas", "mkldnn", "onednn", "mkl", "native"]
        assert dispatch.explain("matmul", x, x).kernel == "cublaslt"
        assert dispatch.explain("matmul", x.cpu(), x.cpu()).considered[0].kernel == "cublas"


def test_integers_on_a_device_use_the_native_kernel(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, dtype=interlock.int64, device=devices[0])
    explained = dispatch.explain("matmul", x, x)
    assert explained.kernel == "native"
    assert str(explained.considered[0]) == "cublas: needs a float dtype, got int64"


def test_nvidia_tf32_override_forbids_tf32() -> None:
    seen = {
        value: eval_program("dispatch.tf32_product", env={"NVIDIA_TF32_OVERRIDE": value}) for value in "01"
    }
    assert seen == {"0": "float32", "1": "tf32"}
