"""PyTorch, from 2.13 on: its settings, its modes in captured states and tasks, and PyTorch under interlock.

The settings are those of `interlock.settings.enable("torch")`. A setting that an installed version or build
of PyTorch lacks is not listed. Reading a setting never initializes CUDA. PyTorch is imported by the functions
`carry`, `follow` and `no_tf32` only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.integrations._conversions import boolean, non_negative, one_of, positive, text
from interlock.integrations._thread_pools import FAMILY_OF_THREADS
from interlock.integrations._torch_carry import Integration, carry, follow
from interlock.integrations._torch_modes import AUTOCAST_DEVICES
from interlock.integrations._torch_tf32 import no_tf32
from interlock.settings._libraries import wrap_writers
from interlock.settings._observer import Observer
from interlock.settings._reader import Getter
from interlock.settings._setting import Extent, Setting

__all__ = ["Integration", "carry", "follow", "no_tf32"]

IMPORTED = "torch"
PACKAGES = ("torch",)
# The compiler saves settings and puts them back around its steps.
GROUPS = tuple(
    (package, "torch.compile")
    for package in ("torch._dynamo", "torch._inductor", "torch._functorch", "torch._export", "torch.fx")
)

_COMPILE = ("torch.compile",)
_PRECISION = "float32 precision"
_PRECISION_NOTE = "Values of the old and the new interface of precision, if mixed, make PyTorch raise."
_MODE_NOTE = "A mode: it is entered and exited often, and its writes are not recorded."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the settings of the imported PyTorch, and wrap the functions that write them."""
    torch = sys.modules["torch"]
    rows = [row for row in _rows(torch) if row is not None]
    compiler = getattr(torch, "compiler", None)
    if hasattr(compiler, "is_compiling"):
        # A graph would break at the code that records a write.
        observer.bypass_while(compiler.is_compiling)  # type: ignore[union-attr]
    wrap_writers(observer, rows)
    for owner in _owners_of_setters():
        observer.replace_copies(owner, "setter")
    # PyTorch assigns these names in the module, so that they are not properties of its class.
    prefix = "torch.backends.opt_einsum."
    einsum = {row.name.removeprefix(prefix): row for row in rows if row.name.startswith(prefix)}
    observer.wrap_attributes(torch.backends.opt_einsum, einsum)
    return rows


def _owners_of_setters() -> Iterator[object]:
    """Yield the properties of the modules of flags, which have their own reference to a setter."""
    for name, module in list(sys.modules.items()):
        if name == "torch.backends" or name.startswith("torch.backends."):
            for attribute in vars(type(module)).values():
                if hasattr(attribute, "setter") and hasattr(attribute, "getter"):
                    yield attribute


def _member(value: Any) -> str:
    """Convert a member of an enum of PyTorch, or its name."""
    return text(getattr(value, "name", value)).lower()


def _name_of_dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype(torch: ModuleType, value: Any) -> str:
    name = _name_of_dtype(value)
    if not isinstance(getattr(torch, name, None), torch.dtype):
        raise SettingValueError(f"must be a dtype of PyTorch or its name, got {shown(value)}")
    return name


def _reduction(value: Any) -> bool | list[bool]:
    """Convert whether a reduced precision is allowed, or a pair with whether split-K is."""
    pair = (
        [value, True] if isinstance(value, bool) else list(value) if isinstance(value, list | tuple) else []
    )
    if len(pair) != 2 or not all(isinstance(each, bool) for each in pair):
        raise SettingValueError(f"must be a bool or a pair of bools, got {shown(value)}")
    return pair[0] if pair[1] else pair


def _rows(torch: ModuleType) -> Iterator[Setting | None]:
    yield from _flags(torch)
    yield from _precision(torch)
    yield from _attention(torch)
    yield from _process(torch)
    yield from _thread(torch)


def _row(
    torch: ModuleType,
    name: str,
    getter: str | Callable[[], Any],
    setter: str | Callable[[Any], object] | None,
    *,
    writers: tuple[str, ...] = (),
    **more: Any,
) -> Setting | None:
    """Return a setting; None if this version of PyTorch lacks the function that reads or writes it.

    A `getter` or `setter` that is a text names a function of `torch._C`. The setter is looked up when it is
    called. It is also the writer, unless `writers` names others.
    """
    read = getattr(torch._C, getter, None) if isinstance(getter, str) else getter
    if read is None:
        return None
    write: Callable[[Any], object] | None
    if isinstance(setter, str):
        if not hasattr(torch._C, setter):
            return None
        write = partial(_call, torch, setter)
        writers = writers or (f"torch._C.{setter}",)
    else:
        write = setter
    more.setdefault("convert", boolean)
    return Setting(name, read, write, writers=writers, **more)


def _getter(torch: ModuleType, function: str, convert: Callable[[Any], Any]) -> Getter | str:
    """Return what reads a setting with a function of `torch._C` and converts its result."""
    found = getattr(torch._C, function, None)
    return "" if found is None else Getter(found, convert)


def _call(torch: ModuleType, function: str, *arguments: Any) -> object:
    return getattr(torch._C, function)(*arguments)


def _flags(torch: ModuleType) -> Iterator[Setting | None]:
    """Yield the flags of `torch.backends` other than precision and attention."""
    row = partial(_row, torch)
    for name, default, doc in (
        ("cudnn.enabled", True, "Whether cuDNN is used."),
        ("cudnn.deterministic", False, "Whether cuDNN uses deterministic algorithms only."),
        ("cudnn.benchmark", False, "Whether cuDNN measures several algorithms and uses the fastest."),
        ("mkldnn.enabled", True, "Whether oneDNN is used."),
        ("mkldnn.deterministic", False, "Whether oneDNN uses deterministic algorithms only."),
        ("miopen.immediate", False, "Whether MIOpen skips its search for algorithms."),
        ("nnpack.enabled", True, "Whether NNPACK is used."),
    ):
        function = name.replace(".", "_")
        yield row(f"torch.backends.{name}", f"_get_{function}", f"_set_{function}", default=default, doc=doc)
    if torch._C._has_cudnn:
        yield row(
            "torch.backends.cudnn.benchmark_limit",
            "_cuda_get_cudnn_benchmark_limit",
            "_cuda_set_cudnn_benchmark_limit",
            default=10,
            convert=non_negative,
            doc="How many algorithms cuDNN measures at most; 0 for all.",
        )
    yield row(
        "torch.backends.cudnn.depthwise_kernel",
        "_get_cudnn_depthwise_kernel",
        "_set_cudnn_depthwise_kernel",
        default="auto",
        convert=text,
        doc="Which kernel runs depthwise convolutions.",
    )
    for width in ("fp16", "bf16"):
        function = f"cublas_allow_{width}_reduced_precision_reduction"
        yield row(
            f"torch.backends.cuda.matmul.allow_{width}_reduced_precision_reduction",
            _getter(torch, f"_get_{function}", _reduction),
            partial(_set_reduction, torch, f"_set_{function}"),
            writers=(f"torch._C._set_{function}",),
            default=True,
            convert=_reduction,
            guards=_COMPILE,
            doc=f"Whether sums of {width} products may be reduced in {width}; with split-K as a pair.",
        )
    yield row(
        "torch.backends.cuda.matmul.allow_fp16_accumulation",
        "_get_cublas_allow_fp16_accumulation",
        "_set_cublas_allow_fp16_accumulation",
        default=False,
        doc="Whether products of fp16 may be accumulated in fp16.",
    )
    # Since 2.15.
    yield row(
        "torch.backends.cuda.matmul.prefer_cublaslt_grouped_gemm",
        "_get_cublaslt_prefer_grouped_gemm",
        "_set_cublaslt_prefer_grouped_gemm",
        default=False,
        doc="Whether grouped products prefer cuBLASLt.",
    )
    for library, doc in (
        ("linalg", "linear algebra"),
        ("blas", "products"),
        ("rocm_fa", "flash attention of ROCm"),
    ):
        getter, setter = f"_get_{library}_preferred_backend", f"_set_{library}_preferred_backend"
        public = f"preferred_{library}_library"
        if hasattr(torch._C, getter) and hasattr(torch.backends.cuda, public):
            yield row(
                f"torch.backends.cuda.{public}",
                _getter(torch, getter, _member),
                getattr(torch.backends.cuda, public),
                writers=(f"torch._C.{setter}",),
                default=None if library == "blas" else "default",
                convert=_member,
                doc=f"The preferred library for {doc}.",
            )
    mha = torch.backends.mha
    yield row(
        "torch.backends.mha.fastpath",
        mha.get_fastpath_enabled,
        mha.set_fastpath_enabled,
        writers=("torch.backends.mha.set_fastpath_enabled",),
        default=True,
        doc="Whether inference of attention layers may use one fused function.",
    )
    opt_einsum = torch.backends.opt_einsum
    yield row(
        "torch.backends.opt_einsum.enabled",
        partial(_get_einsum, opt_einsum, "enabled"),
        partial(setattr, opt_einsum, "enabled"),
        writers=("torch.backends.opt_einsum.m._set_enabled",),
        doc="Whether opt_einsum orders the contractions of an einsum.",
    )
    if opt_einsum.strategy is not None:
        yield row(
            "torch.backends.opt_einsum.strategy",
            partial(_get_einsum, opt_einsum, "strategy"),
            partial(setattr, opt_einsum, "strategy"),
            writers=("torch.backends.opt_einsum.m._set_strategy",),
            default="auto",
            convert=one_of("auto", "greedy", "optimal"),
            doc="How opt_einsum searches for an order.",
        )
    quantized = torch.backends.quantized
    yield row(
        "torch.backends.quantized.engine",
        lambda: quantized.engine,
        partial(setattr, quantized, "engine"),
        writers=("torch._C._set_qengine",),
        convert=text,
        doc="The library that runs quantized operations.",
    )


def _get_einsum(module: ModuleType, name: str) -> Any:
    # An assigned value is an attribute of this module, which otherwise asks another one, but slowly.
    own = vars(module)
    return own[name] if name in own else getattr(own.get("m", module), name)


def _set_reduction(torch: ModuleType, setter: str, value: bool | list[bool]) -> None:
    pair = [value, True] if isinstance(value, bool) else value
    getattr(torch._C, setter)(*pair)


# The nodes of the precision tree: path below `torch.backends`, and arguments of the functions of `torch._C`.
_NODES = {
    "": ("generic", "all"),
    "cudnn.": ("cuda", "all"),
    "cudnn.conv.": ("cuda", "conv"),
    "cudnn.rnn.": ("cuda", "rnn"),
    "cuda.matmul.": ("cuda", "matmul"),
    "mkldnn.": ("mkldnn", "all"),
    "mkldnn.matmul.": ("mkldnn", "matmul"),
    "mkldnn.conv.": ("mkldnn", "conv"),
    "mkldnn.rnn.": ("mkldnn", "rnn"),
}


def _precision(torch: ModuleType) -> Iterator[Setting | None]:
    """Yield the settings of float32 precision, which change together; a node after those it inherits from."""
    precision = partial(_row, torch, family=_PRECISION, note=_PRECISION_NOTE)
    if hasattr(torch._C, "_get_fp32_precision_getter"):
        for path, node in _NODES.items():
            yield precision(
                f"torch.backends.{path}fp32_precision",
                partial(torch._C._get_fp32_precision_getter, *node),
                partial(_call, torch, "_set_fp32_precision_setter", *node),
                restore=partial(_restore_node, torch, node),
                writers=("torch._C._set_fp32_precision_setter",),
                writer_arguments=node,
                default="tf32" if node in (("cuda", "conv"), ("cuda", "rnn")) else "none",
                convert=text,
                doc="The precision of float32 operations; an unset node has its parent's precision.",
            )
    yield precision(
        "torch.float32_matmul_precision",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        writers=("torch._C._set_float32_matmul_precision",),
        default="highest",
        convert=one_of("highest", "high", "medium"),
        doc="The precision of float32 products.",
    )
    yield precision(
        "torch.backends.cudnn.allow_tf32",
        "_get_cudnn_allow_tf32",
        "_set_cudnn_allow_tf32",
        default=True,
        doc="Whether cuDNN may round float32 to TF32.",
    )
    yield precision(
        "torch.backends.cuda.matmul.allow_tf32",
        "_get_cublas_allow_tf32",
        "_set_cublas_allow_tf32",
        default=False,
        guards=_COMPILE,
        doc="Whether cuBLAS may round float32 to TF32.",
    )
    # A build without support reads None, which cannot be written.
    if torch.backends.mkldnn.allow_tf32 is not None:
        yield precision(
            "torch.backends.mkldnn.allow_tf32",
            "_get_onednn_allow_tf32",
            "_set_onednn_allow_tf32",
            doc="Whether oneDNN may round float32 to TF32.",
        )


def _restore_node(torch: ModuleType, node: tuple[str, str], value: str) -> None:
    """Put the precision of a node back: a value that it would inherit is inherited again."""
    backend, operation = node
    above = ("generic", "all") if operation == "all" else (backend, "all")
    inherits = node != above and torch._C._get_fp32_precision_getter(*above) == value
    torch._C._set_fp32_precision_setter(*node, "none" if inherits else value)


def _attention(torch: ModuleType) -> Iterator[Setting | None]:
    row = partial(_row, torch)
    for kernel in ("flash", "mem_efficient", "math", "cudnn"):
        yield row(
            f"torch.backends.cuda.{kernel}_sdp",
            f"_get_{kernel}_sdp_enabled",
            f"_set_sdp_use_{kernel}",
            default=True,
            doc=f"Whether scaled_dot_product_attention may use the kernel {kernel}.",
        )
    yield row(
        "torch.backends.cuda.fp16_bf16_reduction_math_sdp",
        "_get_math_sdp_allow_fp16_bf16_reduction",
        "_set_math_sdp_allow_fp16_bf16_reduction",
        default=False,
        doc="Whether the kernel math may reduce in 16 bits.",
    )


def _process(torch: ModuleType) -> Iterator[Setting | None]:
    """Yield the settings of the process that are functions of `torch`."""
    row = partial(_row, torch)
    deterministic = partial(
        row, writers=("torch._C._set_deterministic_algorithms",), family="determinism", default=False
    )
    yield deterministic(
        "torch.deterministic_algorithms",
        torch.are_deterministic_algorithms_enabled,
        lambda value: torch.use_deterministic_algorithms(
            value, warn_only=torch.is_deterministic_algorithms_warn_only_enabled()
        ),
        guards=_COMPILE,
        doc="Whether operations use deterministic algorithms, and raise if they have none.",
    )
    yield deterministic(
        "torch.deterministic_algorithms_warn_only",
        torch.is_deterministic_algorithms_warn_only_enabled,
        lambda value: torch.use_deterministic_algorithms(
            torch.are_deterministic_algorithms_enabled(), warn_only=value
        ),
        guards=_COMPILE,
        doc="Whether an operation without a deterministic algorithm warns instead.",
    )
    yield row(
        "torch.utils.deterministic.fill_uninitialized_memory",
        "_get_deterministic_fill_uninitialized_memory",
        "_set_deterministic_fill_uninitialized_memory",
        default=True,
        doc="Whether new memory is filled while deterministic algorithms are on.",
    )
    yield num_threads(torch)
    yield row(
        "torch.num_interop_threads",
        torch.get_num_interop_threads,
        None,
        writers=("torch._C.set_num_interop_threads", "torch.set_num_interop_threads"),
        doc="How many operations run concurrently in TorchScript.",
        note="PyTorch accepts one write, before the threads start.",
    )
    yield row(
        "torch.default_dtype",
        Getter(torch.get_default_dtype, _name_of_dtype),
        lambda value: torch.set_default_dtype(getattr(torch, value)),
        writers=("torch._C._set_default_dtype", "torch._C._set_default_tensor_type"),
        default="float32",
        convert=partial(_dtype, torch),
        guards=_COMPILE,
        doc="The dtype of new tensors of floats.",
    )
    anomaly = partial(
        row, writers=("torch._C.set_anomaly_enabled", "torch.set_anomaly_enabled"), family="anomaly"
    )
    yield anomaly(
        "torch.anomaly_enabled",
        torch.is_anomaly_enabled,
        lambda value: torch.set_anomaly_enabled(value, torch.is_anomaly_check_nan_enabled()),
        default=False,
        doc="Whether a backward pass reports the forward operation that caused an error.",
    )
    yield anomaly(
        "torch.anomaly_check_nan",
        torch.is_anomaly_check_nan_enabled,
        lambda value: torch.set_anomaly_enabled(torch.is_anomaly_enabled(), value),
        default=True,
        doc="Whether anomaly mode raises for NaN.",
    )
    yield row(
        "torch.warn_always",
        torch.is_warn_always_enabled,
        "_set_warnAlways",
        default=False,
        doc="Whether warnings that PyTorch issues once are issued each time.",
    )


def num_threads(torch: ModuleType) -> Setting:
    """Return the setting of the number of threads."""
    found = _row(
        torch,
        "torch.num_threads",
        torch.get_num_threads,
        torch.set_num_threads,
        writers=("torch._C.set_num_threads", "torch.set_num_threads"),
        convert=positive,
        guards=_COMPILE,
        family=FAMILY_OF_THREADS,
        per_thread_reads=True,
        doc="How many threads one operation on the CPU uses.",
        note="OpenMP stores it for each thread, too: a thread that ran before a write may use another.",
    )
    assert found is not None
    return found


def _thread(torch: ModuleType) -> Iterator[Setting | None]:
    """Yield the settings that PyTorch stores for each thread."""
    thread = partial(_row, torch, extent=Extent.THREAD)
    yield thread(
        "torch.flush_denormal",
        _flushes_denormals,
        torch.set_flush_denormal,
        writers=("torch._C.set_flush_denormal", "torch.set_flush_denormal"),
        default=False,
        doc="Whether this CPU thread rounds denormal numbers to zero.",
        note="A register of the thread, which threads that it starts inherit.",
    )
    mode = partial(thread, note=_MODE_NOTE)
    # The setters are called directly: a wrapper would record each `no_grad`.
    for name, getter, setter, default, doc in (
        ("grad_enabled", "is_grad_enabled", "_set_grad_enabled", True, "Whether gradients are recorded."),
        (
            "multithreading_enabled",
            "_is_multithreading_enabled",
            "_set_multithreading_enabled",
            True,
            "Whether a backward pass uses a thread for each device.",
        ),
        (
            "view_replay_enabled",
            "_is_view_replay_enabled",
            "_set_view_replay_enabled",
            False,
            "Whether the base of a view that is written in place replays it.",
        ),
        (
            "grad_layout_enforcement",
            "_is_grad_layout_enforcement_enabled",
            "_set_grad_layout_enforcement_enabled",
            True,
            "Whether a gradient gets the layout of its tensor.",
        ),
    ):
        write = getattr(torch._C, setter, None)
        if write is not None:
            guards = _COMPILE if name == "grad_enabled" else ()
            yield mode(f"torch.{name}", getter, write, default=default, doc=doc, guards=guards)
    yield mode(
        "torch.inference_mode",
        torch.is_inference_mode_enabled,
        None,
        default=False,
        doc="Whether tensors are created without what gradients need.",
        note=f"{_MODE_NOTE} Use torch.inference_mode().",
    )
    for device in AUTOCAST_DEVICES:
        yield mode(
            f"torch.autocast.{device}.enabled",
            partial(torch.is_autocast_enabled, device),
            partial(torch.set_autocast_enabled, device),
            default=False,
            guards=_COMPILE,
            doc=f"Whether operations on {device} choose their dtype.",
        )
        yield mode(
            f"torch.autocast.{device}.dtype",
            Getter(partial(torch.get_autocast_dtype, device), _name_of_dtype),
            partial(_set_autocast_dtype, torch, device),
            default="bfloat16" if device == "cpu" else "float16",
            convert=partial(_dtype, torch),
            guards=_COMPILE,
            doc=f"The dtype that they choose on {device}.",
        )
    yield mode(
        "torch.autocast.cache_enabled",
        torch.is_autocast_cache_enabled,
        torch.set_autocast_cache_enabled,
        default=True,
        guards=_COMPILE,
        doc="Whether autocast caches converted weights.",
    )
    # The compiler replaces this function by identity, so a wrapper would break its graphs.
    yield thread(
        "torch.default_device",
        partial(_get_default_device, torch),
        torch.set_default_device,
        convert=_device,
        note="Writes are not recorded.",
        doc="The device of new tensors; None for the CPU without any write.",
    )
    yield mode(
        "torch.cuda.current_device",
        partial(_get_current_device, torch),
        None,
        doc="The current CUDA device; None until CUDA is initialized.",
        note="Use torch.cuda.device().",
    )


def _flushes_denormals() -> bool:
    # Arithmetic of Python's floats obeys the same register.
    smallest = sys.float_info.min
    return smallest * 0.5 == 0.0


def _set_autocast_dtype(torch: ModuleType, device: str, name: str) -> None:
    torch.set_autocast_dtype(device, getattr(torch, name))


def _device(value: Any) -> str | None:
    return None if value is None else str(value)


def _get_default_device(torch: ModuleType) -> str | None:
    # `torch.get_default_device` makes a tensor, which initializes CUDA.
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else str(context.device)


def _get_current_device(torch: ModuleType) -> int | None:
    return int(torch.cuda.current_device()) if torch.cuda.is_initialized() else None
