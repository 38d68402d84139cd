"""A realistic program that runs and satisfies strict type checkers."""

from __future__ import annotations

import array
import asyncio
import dataclasses
import pickle
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import interlock
import numpy as np
from interlock import (
    Tensor,
    accelerator,
    aio,
    autograd,
    backends,
    errors,
    inference_mode,
    no_grad,
    set_grad_enabled,
    testing,
)
from interlock.autograd.function import BackwardCFunction, FunctionCtx
from interlock.autograd.grad_mode import set_multithreading_enabled
from interlock.backends import cudnn
from interlock.nn import functional

Precision = Literal["none", "ieee", "tf32", "bf16"]


def set_up(precision: Precision = "ieee") -> None:
    """Set flags of every kind."""
    backends.fp32_precision = precision
    backends.cudnn.enabled = True
    backends.cudnn.benchmark = False
    backends.cudnn.benchmark_limit = 5
    backends.cudnn.deterministic = True
    backends.cudnn.allow_tf32 = False
    backends.cudnn.depthwise_kernel = "native"
    backends.cudnn.fp32_precision = "tf32"
    backends.cudnn.conv.fp32_precision = "ieee"
    backends.cudnn.rnn.fp32_precision = "none"
    backends.cuda.matmul.allow_tf32 = True
    backends.cuda.matmul.allow_fp16_accumulation = False
    backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    backends.cuda.matmul.allow_bf16_reduced_precision_reduction = (False, True)
    backends.cuda.matmul.fp32_precision = "ieee"
    backends.cuda.matmul.fp32_precision = "bfx9"
    backends.cuda.matmul.prefer_cublaslt_grouped_gemm = True
    backends.python_native.triton.enabled = False
    library = backends.cuda.preferred_blas_library("cublaslt")
    backends.cuda.blas_workspace_size(2 * backends.cuda.cublaslt_workspace_size(), library)
    backends.mkldnn.enabled = True
    backends.mkldnn.deterministic = True
    backends.mkldnn.allow_tf32 = True
    backends.mkldnn.fp32_precision = "bf16"
    backends.mkldnn.matmul.fp32_precision = "bf16"
    interlock.set_float32_matmul_precision("high")


def report() -> str:
    """Read them back with their types."""
    enabled: bool = cudnn.enabled
    limit: int = cudnn.benchmark_limit
    kernel: str = cudnn.depthwise_kernel
    conv: str = cudnn.conv.fp32_precision
    reduction: bool = backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    matmul: str = interlock.get_float32_matmul_precision()
    explanation = backends.explain("cudnn.enabled")
    parts = (enabled, limit, kernel, conv, reduction, matmul, explanation.level.value, explanation.affects)
    return " ".join(str(part) for part in parts)


@no_grad()
def double(x: Tensor, times: int = 1) -> Tensor:
    """Double without recording."""
    return x * 2 if times == 1 else double(x * 2, times - 1)


@no_grad
def triple(x: Tensor) -> Tensor:
    """Triple without recording."""
    return x * 3


class Model:
    """Methods decorated with and without parentheses."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def loss(self, x: Tensor) -> Tensor:
        return (self.weight * x).sum()

    @inference_mode()
    def predict(self, x: Tensor) -> list[float]:
        values: list[float] = (self.weight * x).tolist()
        return values

    @inference_mode
    def score(self, x: Tensor) -> float:
        return float(self.loss(x).item())

    @staticmethod
    @set_grad_enabled(False)
    def recording() -> bool:
        return interlock.is_grad_enabled()

    @cudnn.flags(enabled=False, deterministic=True)
    def without_cudnn(self) -> tuple[bool, bool]:
        return cudnn.enabled, cudnn.deterministic

    @no_grad()
    def batches(self, count: int) -> Iterator[Tensor]:
        for number in range(count):
            yield self.weight * number


@inference_mode
def running_sum() -> Generator[float, float, str]:
    """Receive numbers and yield their sum."""
    total = 0.0
    while total < 10.0:
        total += yield total
    return "enough"


@no_grad()
async def pause(x: int) -> int:
    """Wait without recording."""
    await asyncio.sleep(0)
    return x + int(interlock.is_grad_enabled())


@backends.override(**{"cudnn.benchmark": True})
async def numbers() -> AsyncIterator[bool]:
    """Yield flags."""
    yield cudnn.benchmark


def scopes() -> list[bool]:
    """Open every kind of scope."""
    seen: list[bool] = []
    with no_grad(), cudnn.flags(enabled=False), backends.mkldnn.flags(), backends.flags("ieee"):
        seen.append(interlock.is_grad_enabled() or cudnn.enabled or backends.mkldnn.enabled)
    with autograd.enable_grad(), set_multithreading_enabled(False), interlock.inference_mode(False):
        seen.append(interlock.is_inference_mode_enabled())
    with backends.override(**{"cudnn.deterministic": False, "cudnn.benchmark_limit": 2}):
        seen.append(cudnn.deterministic)
    kernels = backends.cuda.SDPBackend
    with backends.cuda.sdpa_kernel([kernels.MATH, kernels.CUDNN_ATTENTION], set_priority=True):
        backends.cuda.enable_math_sdp(backends.cuda.flash_sdp_enabled())
        seen.append(backends.cuda.math_sdp_enabled() or backends.cuda.sdp_priority[0] != "math")
    with backends.frozen():
        try:
            cudnn.enabled = False
        except errors.FlagsFrozenError as error:
            seen.append("cudnn.enabled" not in str(error))
    return seen


def own_flags() -> str:
    """Register flags of every type."""
    verbose = backends.register("must_pass.verbose", False, doc="Whether it prints.")
    color = backends.register("must_pass.color", "auto", type=Literal["auto", "never"], doc="Which colors.")
    timeout = backends.register("must_pass.timeout", None, type=float, minimum=0, doc="Seconds.")
    offset = backends.register(
        "must_pass.offset", -1, minimum=-5, doc="Where it begins.", variable="PASS_OFFSET"
    )
    path = backends.register("must_pass.path", "", doc="Which file.", affects="the loader")
    timeout.value = 2.5
    by_flag = backends.override({color: "never", path: "a.bin", timeout: None})
    with verbose.override(True), by_flag, backends.override(**{"must_pass.offset": 3}):
        shown = f"{verbose.value} {color.value} {timeout.value} {offset.value} {path.value}"
    del timeout.value
    return shown


def devices() -> list[str]:
    """Create devices."""
    made = [interlock.device("cuda", 1), interlock.device("cpu"), interlock.device(interlock.device("meta"))]
    current: interlock.device | None = interlock.accelerator.current_accelerator(check_available=True)
    try:
        backends.cuda.cufft_plan_cache[made[0]].max_size = 16
        plans: int = backends.cuda.cufft_plan_cache.max_size
        assert plans >= backends.cuda.cufft_plan_cache.size
    except (errors.DeviceError, errors.NoAcceleratorError):
        # The device does not exist here.
        pass
    index: int | None = made[0].index
    count: int = interlock.accelerator.device_count()
    return [*(str(each) for each in made), str(index), str((current is None) == (count == 0))]


async def all_pauses() -> list[int]:
    """Run coroutines concurrently."""
    flags = [flag async for flag in numbers()]
    return [*await asyncio.gather(pause(1), pause(2)), *(int(flag) for flag in flags)]


def on_threads() -> list[bool]:
    """Apply a captured state on other threads."""
    with no_grad():
        state = interlock.capture()
    with ThreadPoolExecutor(1, initializer=state.install) as pool:
        seen = [pool.submit(interlock.is_grad_enabled).result()]
    with ThreadPoolExecutor(1) as pool:
        seen.append(pool.submit(state.run, interlock.is_grad_enabled).result())
    with state.apply():
        seen.append(state.wrap(interlock.is_grad_enabled)())
    return seen


def use_devices(faults: testing.FaultInjector, numbers: array.array[float]) -> float:
    """Use streams, events, graphs and memory of devices."""
    accelerator.use("host", devices=2, memory=64 << 20, faults=faults)
    buffer, back = accelerator.memory.Buffer(16, "host:1"), bytearray(16)
    start, end = (interlock.Event(enable_timing=True) for _ in range(2))
    with interlock.Stream(interlock.device("host", 1), priority=-1) as stream, accelerator.device_index(1):
        start.record()
        accelerator.memory.copy_(buffer, numbers, non_blocking=True)
        accelerator.memory.fill_(buffer, 1, stream=stream)
        accelerator.launch(stream, print, "done", sep="")
        accelerator.memory.copy_(back, buffer)
        stream.record_event(end).synchronize()
    device_one = interlock.device("host:1")

    @accelerator.memory.MemoryTracker()
    def grow() -> Iterator[int]:
        yield accelerator.memory.Buffer(16, stream=stream).slice(4).nbytes

    graph = accelerator.Graph(keep_graph=True, capture_error_mode="relaxed", pool=accelerator.Graph().pool())
    with stream, graph as captured:
        accelerator.memory.copy_(interlock.ones(4), buffer, non_blocking=True)
    captured.replay()
    with buffer, accelerator.memory.MemoryTracker("host:1") as scope, accelerator.memory.on_oom(print):
        buffer[2:4].copy_from(b"12", stream=stream).fill_(1).copy_to(bytearray(2)).record_stream(stream)
        print(memoryview(buffer).nbytes, sum(grow()), scope.total, accelerator.memory.set_limit("90%"))
    print(accelerator.memory.set_limit(None), accelerator.memory_stats(device_one)["num_ooms"])
    pinned = interlock.zeros(2, 3, pin_memory=True)
    moved = pinned.to("host:1", interlock.float64, True).to(pinned, non_blocking=True, copy=True)
    moved.copy_(interlock.full((2, 3), 1, device=accelerator.current_stream().device), non_blocking=True)
    assert moved.cpu().pin_memory().is_pinned()
    properties = accelerator.device_properties(0)
    with accelerator.memory.history(None, stacks=None, device=1) as recording:
        taken: accelerator.memory.Snapshot = accelerator.memory.snapshot()
    recording.stop()
    blocks = [block for segment in taken["segments"] for block in segment["blocks"]]
    print(len(taken["device_traces"]), blocks[0]["state"], blocks[0]["size"] + 1)
    free, total = accelerator.get_memory_info()
    return start.elapsed_time(end) + properties.total_memory + free / total


def configure_memory(limit: float) -> str:
    """Configure the allocator, and query which keys apply."""
    memory = accelerator.memory
    config = memory.AllocatorConfig(
        max_split_size_mb=64, roundup_power2_divisions={256: 1, ">": 8}, per_process_memory_fraction=limit
    )
    memory.set_config(dataclasses.replace(config, expandable_segments=True))
    memory.set_config(str(memory.AllocatorConfig.parse("max_split_size_mb:32")))
    in_force: int | None = memory.get_config().max_split_size_mb
    acting = [key for key, entry in memory.config_report().items() if entry.applies == "now"]
    memory.set_config("")
    return f"{in_force} {acting}"


def numpy_numbers() -> Tensor:
    """Pass NumPy's numbers and lists of ints to operations."""
    one, shape = np.int64(1), [2, 3]
    interlock.manual_seed(one)
    x = interlock.ones(np.int64(2), 3).reshape(shape)[np.bool_(True)].reshape([np.int64(2), 3])
    x[0] = np.float32(0.5)
    x.fill_(np.int8(2)).mul_(np.float64(2.0)).clamp_(np.bool_(True))
    parts = x.split(one), x.sum(one), x.sum([one, 0]), x.median(one).indices, functional.softmax(x, one)
    assert x.std(one, True).shape == (*x.std((0, 1)).shape, 2)
    assert interlock.randint(one, (2, one)).shape + x.view(-1).shape == (2, 1, 6)
    assert interlock.zeros(interlock.tensor(3)).size(np.int64(0)) == memoryview(x).nbytes // 8
    return parts[0][0]


def sizes_and_numbers() -> list[Tensor]:
    """Pass sizes as one argument, as several, by name and as an unpacked sequence."""
    shape, pair = [2, 3], (3, 2)
    x = interlock.zeros(2, 3, dtype=interlock.float64).reshape(*shape).view(size=(3, 2)).permute(dims=(1, 0))
    x = x.reshape(-1).view(*pair).expand(2, -1, -1).flip([0]).repeat(*shape, 1).new_ones((), device="cpu")
    bits = x.view(dtype=interlock.int64), x.view(interlock.int64), interlock.empty(size=shape)
    numbers = (
        interlock.arange(5),
        interlock.arange(1, 5, step=2),
        interlock.arange(end=3, dtype=interlock.int32),
    )
    drawn = interlock.randint(9, (2,)), interlock.randint(low=1, high=9, size=(2,)), interlock.rand(*pair)
    return [*bits, *numbers, *drawn]


def main() -> None:
    """Call all functions."""
    print(numpy_numbers().tolist())
    assert len(sizes_and_numbers()) == 9
    print(own_flags())
    before = backends.snapshot()
    set_up()
    print(report())
    weight = interlock.tensor([1.0, 2.0], requires_grad=True)
    model = Model(weight)
    model.loss(interlock.tensor([3.0, 4.0])).backward()
    gradient = weight.grad
    assert gradient is not None
    print(gradient.tolist(), double(weight, times=2).tolist(), triple(weight).requires_grad)
    print(model.predict(interlock.tensor([1.0, 1.0])), model.score(interlock.tensor([1.0, 1.0])))
    print(Model.recording(), model.without_cudnn(), [batch.requires_grad for batch in model.batches(2)])
    sums = running_sum()
    print(next(sums), sums.send(2.5))
    print(asyncio.run(all_pauses()), aio.run(all_pauses()), on_threads(), scopes(), devices())
    print(configure_memory(0.5))
    print(use_devices(testing.FaultInjector(), array.array("f", [1.0, 2.0, 3.0, 4.0])) > 0)
    changed = backends.snapshot() != before
    backends.restore(pickle.loads(pickle.dumps(before)))
    print(changed, backends.snapshot() == before)


if __name__ == "__main__":
    main()


async def one() -> int:
    return 1


# Modules that are imported when they are first used.
assert interlock.aio.run(one()) == 1
interlock.testing.FaultInjector()


class Clip(autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: interlock.Tensor, limit: float) -> interlock.Tensor:
        ctx.save_for_backward(x)
        return x.clamp(max=limit)

    @staticmethod
    def backward(ctx: BackwardCFunction, grad: interlock.Tensor) -> tuple[interlock.Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad * (x < 1), None
