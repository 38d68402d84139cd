"""Decorated functions keep their types: type checkers check each line, and the program runs."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from os import PathLike
from pathlib import Path
from typing import Any, Literal, assert_type

import interlock
from interlock import (
    aio,
    autograd,
    backends,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    settings,
)
from interlock.autograd.graph import Node, allow_mutation_on_saved_tensors, node_creation_hook, queue_callback
from interlock.backends import Flag, cudnn, mkldnn
from interlock.utils.checkpoint import checkpoint


def function(x: int, *, y: str = "") -> float:
    return float(x) + len(y)


def generator(x: int) -> Generator[int, str, bytes]:
    sent = yield x
    return sent.encode()


async def coroutine(x: int) -> str:
    return str(x)


async def async_generator(x: int) -> AsyncIterator[int]:
    yield x


@no_grad()
def with_parentheses(x: int) -> float:
    return float(x)


@no_grad
def without_parentheses(x: int) -> float:
    return float(x)


@inference_mode()
def inference_with_parentheses(x: int) -> float:
    return float(x)


@inference_mode
def inference_without_parentheses(x: int) -> float:
    return float(x)


@checkpoint(preserve_rng_state=False)
def checkpointed(x: int, *, y: str = "") -> float:
    return float(x) + len(y)


@allow_mutation_on_saved_tensors()
def changing(x: int) -> float:
    return float(x)


class Owner:
    @checkpoint()
    def checkpointed(self, x: int) -> Owner:
        return self

    @no_grad()
    def method(self, x: int) -> Owner:
        return self

    @no_grad
    def bare_method(self, x: int) -> Owner:
        return self

    @inference_mode
    def items(self, x: int) -> Generator[str, None, None]:
        yield str(x)

    @classmethod
    @set_grad_enabled(False)
    def make(cls) -> Owner:
        return cls()

    @staticmethod
    @cudnn.flags(enabled=False)
    def static(x: bytes) -> bytes:
        return x


assert_type(with_parentheses(1), float)
assert_type(without_parentheses(1), float)
assert_type(inference_with_parentheses(1), float)
assert_type(inference_without_parentheses(1), float)
assert_type(no_grad()(function)(1, y="a"), float)
assert_type(no_grad(function)(1, y="a"), float)
assert_type(enable_grad(function)(1, y="a"), float)
assert_type(inference_mode(function)(1, y="a"), float)
assert_type(inference_mode(False)(function)(1, y="a"), float)
assert_type(set_grad_enabled(True)(function)(1, y="a"), float)
assert_type(cudnn.flags(enabled=False)(function)(1, y="a"), float)
assert_type(mkldnn.flags()(function)(1, y="a"), float)
assert_type(backends.flags()(function)(1, y="a"), float)
assert_type(backends.override()(function)(1, y="a"), float)
assert_type(no_grad()(generator)(1), Generator[int, str, bytes])
assert_type(no_grad(generator)(1), Generator[int, str, bytes])
assert_type(inference_mode(generator)(1), Generator[int, str, bytes])
assert_type(set_grad_enabled(True)(generator)(1), Generator[int, str, bytes])
assert_type(cudnn.flags()(generator)(1), Generator[int, str, bytes])
assert_type(no_grad()(async_generator)(1), AsyncIterator[int])
assert_type(interlock._unsafe_preserve_version_counter(interlock.ones(1))(function)(1, y="a"), float)  # pyright: ignore[reportPrivateUsage]
assert_type(interlock._enter_inference_mode(False), inference_mode)  # pyright: ignore[reportPrivateUsage]
assert_type(checkpointed(1, y="a"), float)
assert_type(changing(1), float)
assert_type(Owner().checkpointed(1), Owner)
assert_type(checkpoint(function, 1), float)
assert_type(checkpoint(debug=True)(generator)(1), Generator[int, str, bytes])
assert_type(Owner().method(1), Owner)
assert_type(Owner().bare_method(1), Owner)
assert_type(Owner().items(1), Generator[str, None, None])
assert_type(Owner.make(), Owner)
assert_type(Owner.static(b""), bytes)
kept: Callable[[int], Coroutine[Any, Any, str]] = no_grad()(coroutine)
bare: Callable[[int], Coroutine[Any, Any, str]] = inference_mode(coroutine)

state = interlock.capture(pin=True)
assert_type(state, interlock.ThreadState)
assert_type(state.run(function, 1, y="a"), float)
assert_type(state.wrap(generator)(1), Generator[int, str, bytes])
assert_type(state.apply()(function)(1), float)
assert_type(state.install(), None)
assert_type(aio.run(coroutine(1)), str)
with aio.Runner() as runner:
    assert_type(runner.run(coroutine(1)), str)

assert_type(cudnn.enabled, bool)
assert_type(cudnn.benchmark_limit, int)
assert_type(cudnn.allow_tf32, bool)
assert_type(backends.cuda.matmul.allow_tf32, bool)
assert_type(backends.cuda.matmul.allow_fp16_reduced_precision_reduction, bool)
assert_type(backends.cuda.flash_sdp_enabled(), bool)
assert_type(backends.cuda.sdpa_kernel(backends.cuda.SDPBackend.MATH)(function)(1), float)
assert_type(int(backends.cuda.SDPBackend.MATH), int)
assert_type(int(backends.cuda.preferred_linalg_library()), int)
assert_type(backends.cuda.blas_workspace_size(), int)
assert_type(backends.cuda.cuFFTPlanCache(0).device_index, int)
assert_type(backends.cuda.is_built(), bool)
assert_type(mkldnn.allow_tf32, bool | None)
assert_type(interlock.get_float32_matmul_precision(), Literal["highest", "high", "medium"])
assert_type(interlock.device("cuda").index, int | None)
assert_type(interlock.accelerator.unavailable_reason(), str | None)
assert_type(interlock.accelerator.memory_stats(), OrderedDict[str, int])
assert_type(interlock.accelerator.memory.get_limit(), int | None)
assert_type(interlock.accelerator.memory.fragmentation(), float)
assert_type(interlock.accelerator.memory.MemoryTracker().peak, int)
assert_type(interlock.accelerator.memory.MemoryTracker()(function)(1), float)
assert_type(interlock.OutOfMemoryError().limit, int | None)
assert_type(interlock.OutOfMemoryError().pool, tuple[int, int] | None)
assert_type(backends.cpu.get_cpu_capability(), str)
assert_type(backends.mps.is_available(), bool)
assert_type(cudnn.is_available(), bool)
assert_type(cudnn.version(), int | None)
assert_type(cudnn.is_acceptable(interlock.ones(1)), bool)
assert_type(cudnn.CUDNN_TENSOR_DTYPES, set[interlock.dtype])
assert_type(backends.cusparselt.get_max_alg_id(), int | None)
register = backends.register


class Fruit(enum.Enum):
    APPLE = "apple"
    PEAR = "pear"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


assert_type(register("reveal.switch", False, doc="x"), Flag[bool])
assert_type(register("reveal.count", 1, doc="x", maximum=3), Flag[int])
assert_type(register("reveal.float", 1.5, doc="x"), Flag[float])
assert_type(register("reveal.int_as_float", 1, type=float, doc="x"), Flag[float])
assert_type(register("reveal.text", "a", doc="x"), Flag[str])
assert_type(register("reveal.maybe_bool", True, optional=True, doc="x"), Flag[bool | None])
assert_type(register("reveal.maybe_int", None, type=int, doc="x"), Flag[int | None])
assert_type(register("reveal.maybe_float", None, type=float, doc="x", minimum=0.5), Flag[float | None])
assert_type(register("reveal.maybe_text", None, type=str, doc="x"), Flag[str | None])
literal = register("reveal.literal", "a", type=Literal["a", "b"], doc="x")
assert_type(literal, Flag[Literal["a", "b"]])
assert_type(literal.value, Literal["a", "b"])
maybe_literal = register("reveal.maybe_literal", None, type=Literal["a", "b"], doc="x")
assert_type(maybe_literal, Flag[Literal["a", "b"] | None])
declared: Flag[Literal["a", "b"]] = register("reveal.declared", "a", choices=["a", "b"], doc="x")
assert_type(backends.override({literal: "a", declared: "b"})(function)(1), float)
assert_type(register("reveal.member", Fruit.APPLE, doc="x"), Flag[Fruit, str])
assert_type(register("reveal.int_member", Size.SMALL, doc="x", type=Size), Flag[Size, str])
assert_type(register("reveal.maybe_member", None, type=Fruit, doc="x"), Flag[Fruit | None, str])
assert_type(register("reveal.path", Path("a"), doc="x"), Flag[Path, str | PathLike[str]])
assert_type(register("reveal.path_of_text", "a", type=Path, doc="x"), Flag[Path, str | PathLike[str]])
assert_type(register("reveal.maybe_path", None, type=Path, doc="x"), Flag[Path | None, str | PathLike[str]])
assert_type(register("reveal.list", [1, 2], doc="x", minimum=0), Flag[tuple[int, ...], list[int]])
assert_type(register("reveal.texts", ("a",), doc="x"), Flag[tuple[str, ...], list[str]])
assert_type(register("reveal.empty", [], type=list[int], doc="x"), Flag[tuple[int, ...], list[int]])
assert_type(register("reveal.empty_tuple", (), type=tuple[Path, ...], doc="x").value, tuple[Path, ...])
assert_type(
    register("reveal.names", ["a"], type=list[Literal["a", "b"]], doc="x"),
    Flag[tuple[Literal["a", "b"], ...], list[Literal["a", "b"]]],
)
assert_type(register("reveal.maybe_list", None, type=list[Fruit], doc="x").value, tuple[Fruit, ...] | None)
assert_type(
    register("reveal.checked", 1, doc="x", validator=lambda value: value.bit_length() > 0, on_change=print),
    Flag[int],
)
assert_type(
    register("reveal.checked_list", ["a"], doc="x", validator=lambda values: len(values) > 0),
    Flag[tuple[str, ...], list[str]],
)
assert_type(backends.describe(), list[backends.Description])
assert_type(backends.describe("cudnn.enabled").variables, tuple[str, ...])
assert_type(backends.unregister(literal), None)
settings_row = settings.Setting("reveal.setting", get=lambda: 1, set=print, extent="thread")
with settings.register(settings_row) as enabled, settings.watch() as watched:
    assert_type(enabled, settings.Enabled)
    assert_type(watched.writes, list[settings.Write])
    assert_type(settings.override({"reveal.setting": 1})(function)(1), float)
    assert_type(settings.override({"reveal.setting": 1}, on_conflict="wait")(coroutine)(1).close(), None)
    assert_type(settings.explain("reveal.setting"), settings.Explanation)
    assert_type(settings.explain("reveal.setting").too_late, str)
    assert_type(settings.diff(settings.snapshot()), list[settings.Difference])
with mkldnn.verbose(mkldnn.VERBOSE_OFF) as scope:
    assert_type(scope, mkldnn.verbose)
    assert_type(scope.level, int)
names: list[str] = []


def note(node: Node) -> None:
    names.append(node.name())


with node_creation_hook(note) as no_hook, allow_mutation_on_saved_tensors() as saved:
    assert no_hook is None
    leaf = interlock.ones(1, requires_grad=True)
    product = leaf * 2
    product.register_hook(lambda gradient: queue_callback(names.clear))
    product.backward()
    assert_type(len(saved.original) + len(saved.cloned), int)
assert names == []
assert_type(autograd.grad(leaf * 2, leaf), tuple[interlock.Tensor, ...])
assert_type(autograd.grad(leaf * 2, leaf, allow_unused=True), tuple[interlock.Tensor | None, ...])
with no_grad() as nothing, cudnn.flags() as as_little:
    assert nothing is None
    assert as_little is None
