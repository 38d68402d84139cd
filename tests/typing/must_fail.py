"""Mistakes, one per line: a strict type checker must report each of them and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import interlock
import numpy as np
from interlock import (
    accelerator,
    aio,
    backends,
    device,
    inference_mode,
    no_grad,
    set_grad_enabled,
    settings,
    threads,
)
from interlock.autograd import graph
from interlock.backends import cudnn, mkldnn
from interlock.nn import functional
from interlock.utils.checkpoint import checkpoint

backends.fp32_precision = "fp32"  # error: assignment
backends.fp32_prec = "ieee"  # error: attr-defined
cudnn.enabled = "yes"  # error: assignment
cudnn.benchmrak = True  # error: attr-defined
cudnn.benchmark_limit = 1.5  # error: assignment
cudnn.depthwise_kernel = "fast"  # error: assignment
cudnn.conv.fp32_precision = "bf16"  # error: assignment
cudnn.conv.fp32_precision = "bfx9"  # error: assignment
backends.python_native.triton.enabled = 1.5  # error: assignment
cudnn.conv.precision = "ieee"  # error: attr-defined
backends.cuda.matmul.allow_tf32 = 1.5  # error: assignment
backends.cuda.matmul.allow_fp16_reduced_precision_reduction = "no"  # error: assignment
backends.cuda.matmul.allow_fp16_reduced_precision_reduction_split_k = True  # error: misc
backends.cuda.flash_sdp_enabled = 3  # error: assignment
backends.cuda.enable_flash_sdp("yes")  # error: arg-type
backends.cuda.sdpa_kernel("MATH")  # error: arg-type
backends.cuda.SDPBackend.FLASH  # error: attr-defined
backends.cuda.preferred_blas_library("magma")  # error: arg-type
backends.cuda.cublas_workspace_size("1 MiB")  # error: arg-type
backends.cuda.cufft_plan_cache.max_size = "7"  # error: assignment
backends.cuda.cufft_plan_cache.max_sise = 7  # error: attr-defined
backends.cuda.cufft_plan_cache[1.5]  # error: index
mkldnn.enable = False  # error: attr-defined
mkldnn.matmul.fp32_precision = 3  # error: assignment
cudnn.flags(enabled="yes")  # error: arg-type
cudnn.flags(bogus=True)  # error: call-arg
mkldnn.set_flags(_fp32_precision="half")  # error: arg-type
interlock.set_float32_matmul_precision("low")  # error: arg-type
backends.mkl.verbose("loud")  # error: arg-type
backends.mkl.verbos  # error: attr-defined
backends.mps.is_macos_or_newer(13)  # error: call-arg
set_grad_enabled("no")  # error: arg-type
set_grad_enabled()  # error: call-arg
inference_mode(mode="yes")  # error: call-overload
device(1.5)  # error: arg-type
device("cuda", "0")  # error: arg-type
graph.node_creation_hook(3)  # error: arg-type
graph.queue_callback("done")  # error: arg-type
graph.set_override_stale_capture_stream(1)  # error: arg-type
graph.set_warn_on_accumulate_grad_stream_mismatch(None)  # error: arg-type
checkpoint(other=1)  # error: call-overload
checkpoint(debug=True)(3)  # error: arg-type
text: str = interlock.is_grad_enabled()  # error: assignment
index: int = device("cuda").index  # error: assignment
nothing = backends.explain("cudnn.enabled").nothing  # error: attr-defined
verbose = backends.register("must_fail.verbose", False, doc="x")
verbose.value = "yes"  # error: assignment
verbose.override(1.5)  # error: arg-type
backends.override({"must_fail.verbose": True})  # error: dict-item
color = backends.register("must_fail.color", "a", type=Literal["a", "b"], doc="x")
color.value = "c"  # error: assignment
backends.register("must_fail.nothing", None, doc="x")  # error: call-overload
sizes = backends.register("must_fail.sizes", [1], doc="x", validator=lambda values: len(values) < 3)
sizes.value = ("a",)  # error: assignment
backends.register("must_fail.checked", 1, doc="x", validator=str.upper)  # error: arg-type
backends.register("must_fail.changes", 1, doc="x", on_change=lambda: None)  # error: arg-type
backends.register("must_fail.text", "a", doc="x", maximum=3)  # error: call-overload
interlock.set_deterministic_debug_mode("quiet")  # error: arg-type
cudnn.set_flags(_fp32_precision="half")  # error: arg-type


@no_grad()
def first(x: int) -> str:
    return str(x)


@no_grad
def second(x: int) -> str:
    return str(x)


@inference_mode
def third(x: int) -> str:
    return str(x)


@cudnn.flags(enabled=False)
def fourth(x: int) -> str:
    return str(x)


first("text")  # error: arg-type
second("text")  # error: arg-type
third("text")  # error: arg-type
fourth("text")  # error: arg-type
first()  # error: call-arg
interlock.capture(pin="yes")  # error: arg-type
interlock.capture().run(first, "text")  # error: arg-type
interlock.capture().wrap(first)("text")  # error: arg-type
interlock.capture().wrap(3)  # error: type-var
aio.run(first(1))  # error: arg-type
number: int = second(1)  # error: assignment


def add(x: int, y: int) -> int:
    return x + y


stream = interlock.Stream(priority="high")  # error: arg-type
interlock.Stream(exclusiv=True)  # error: call-arg
accelerator.launch(stream, add, 1)  # error: call-arg
accelerator.launch(stream, add, 1, "2")  # error: arg-type
accelerator.launch(3, add, 1, 2)  # error: arg-type
accelerator.set_device_index(None)  # error: arg-type
accelerator.device_index(1.5)  # error: arg-type
accelerator.Graph(capture_error_mode="sloppy")  # error: arg-type
interlock.Event(enable_timing=True).elapsed_time(stream)  # error: arg-type
accelerator.memory.copy_(accelerator.memory.Buffer(4), "text")  # error: arg-type
accelerator.memory.fill_(b"bytes", 1)  # error: arg-type
accelerator.memory.AllocatorConfig(max_split_size_mb="64")  # error: arg-type
accelerator.memory.AllocatorConfig(max_splt_size_mb=64)  # error: call-arg
accelerator.memory.AllocatorConfig(roundup_power2_divisions={"<": 8})  # error: dict-item
accelerator.memory.set_config(64)  # error: arg-type
accelerator.memory.get_config().caching = False  # error: misc
accelerator.memory.Buffer(4)[1]  # error: index
accelerator.memory.Buffer(4, stream=1)  # error: arg-type
accelerator.memory.Buffer(4).close("now")  # error: arg-type
accelerator.memory.set_limit([1])  # error: arg-type
accelerator.memory.on_oom("callback")  # error: arg-type
accelerator.memory_stats(1.5)  # error: arg-type
accelerator.memory.history(stacks="c++")  # error: arg-type
accelerator.memory.snapshot()["segment"]  # error: typeddict-item
with interlock.Event():  # error: attr-defined
    pass
settings.override({"torch.num_threads": 1}, on_conflict="later")  # error: arg-type
settings.pin({"torch.num_threads": 1}, on_write="log")  # error: arg-type
settings.Setting("mylib.level", get=lambda: 1, extent="task")  # error: arg-type
settings.Setting("mylib.level", get=lambda: 1, too_late="started")  # error: arg-type
settings.enable(settings)  # error: arg-type
threads.limits(1, pools="openblas")  # error: arg-type
threads.set_limits(1, pools="openblas")  # error: arg-type
sizes.value = {1}  # error: assignment
sizes.value = [1.5]  # error: list-item
paths = backends.register("must_fail.paths", [], type=list[Path], doc="x")
paths.value = "a"  # error: assignment
paths.value = [3]  # error: list-item
folder = backends.register("must_fail.folder", Path("a"), doc="x")
folder.value = b"a"  # error: assignment
size: int = backends.explain(verbose).value
text = backends.explain(verbose).value  # error: assignment
text = backends.describe(verbose).default  # error: assignment
backends.register("must_fail.change", 1, doc="x", on_change=lambda c: c.new.upper())  # error: union-attr
tensor, array = interlock.zeros(2, 3), np.zeros(3)
tensor[0] = array  # error: assignment
tensor.fill_(array)  # error: arg-type
tensor.mul(array)  # error: arg-type
tensor.eq(array)  # error: arg-type
tensor.clamp(array)  # error: arg-type
tensor.sum(dim=range(1))  # error: arg-type
tensor.sum(1.5)  # error: arg-type
interlock.full((3,), array)  # error: arg-type
interlock.where(tensor > 0, tensor, array)  # error: call-overload
interlock.zeros(1.5)  # error: call-overload
interlock.zeros()  # error: call-overload
interlock.ones(dtype=interlock.int64)  # error: call-overload
interlock.rand()  # error: call-overload
interlock.arange()  # error: call-overload
interlock.randint(10)  # error: call-overload
tensor.reshape()  # error: call-overload
tensor.view()  # error: call-overload
tensor.permute()  # error: call-overload
tensor.expand()  # error: call-overload
tensor.repeat()  # error: call-overload
tensor.flip()  # error: call-overload
tensor.new_zeros()  # error: call-overload
functional.cross_entropy(tensor, interlock.tensor([0, 1]), reduction="all")  # error: arg-type
