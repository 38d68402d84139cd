"""Valid arguments for the API fuzzer, by the name of the parameter."""

from __future__ import annotations

import ctypes
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import numpy as np
from interlock import accelerator, backends, testing
from interlock.accelerator.memory import Buffer

from tests.fuzz.pool import OwnError, Pool

Made = tuple[str, Any]
"""A description, created without calling methods of the value, and the value."""

FLOATS = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e308, 5e-324, 1.5, -1.0, 1e20)
TEXTS = (
    "",
    "\0",
    "host",
    "host:1",
    "host:0",
    "host:9",
    "host:-1",
    "cpu",
    "cpu:0",
    "cuda",
    "meta",
    "none",
    "tf32",
    "ieee",
    "bf16",
    "auto",
    "mean",
    "sum",
    "cudnn.enabled",
    "cudnn",
    "mylib.value",
    "fuzz.flag",
    "\ud800",
    "é" * 50,
    "x" * 5000,
    "50%",
    "1GiB",
    "-1KiB",
    "highest",
    "relaxed",
    "python",
    "all",
    "max_split_size_mb:64",
    "native",
    "--ninstances",
    "2",
    "--json",
    "a.b.c",
)
BY_NAME: dict[str, str] = {
    **dict.fromkeys(("anything",), "anything"),
    **dict.fromkeys(
        (
            "hostile",
            "other",
        ),
        "hostile",
    ),
    **dict.fromkeys(
        (
            "dim",
            "dim0",
            "dim1",
            "dims",
            "index",
            "axis",
        ),
        "dim",
    ),
    **dict.fromkeys(
        (
            "size",
            "sizes",
            "shape",
            "stride",
            "storage_offset",
        ),
        "size",
    ),
    **dict.fromkeys(("dtype",), "dtype"),
    **dict.fromkeys(
        (
            "device",
            "device_index",
            "type",
        ),
        "device",
    ),
    **dict.fromkeys(("key",), "key"),
    **dict.fromkeys(
        (
            "input",
            "src",
            "gradient",
            "grad",
            "target",
            "value",
            "fill_value",
            "exponent",
            "tensor",
        ),
        "tensor",
    ),
    **dict.fromkeys(
        (
            "tensors",
            "outputs",
            "inputs",
            "grad_tensors",
            "grad_outputs",
        ),
        "tensors",
    ),
    **dict.fromkeys(
        (
            "data",
            "start",
            "end",
            "step",
        ),
        "data",
    ),
    **dict.fromkeys(("ndarray",), "array"),
    **dict.fromkeys(("stream",), "stream"),
    **dict.fromkeys(
        (
            "event",
            "end_event",
        ),
        "event",
    ),
    **dict.fromkeys(("buffer",), "buffer"),
    **dict.fromkeys(
        (
            "source",
            "destination",
        ),
        "some_bytes",
    ),
    **dict.fromkeys(
        (
            "pool",
            "graph",
        ),
        "graph",
    ),
    **dict.fromkeys(
        (
            "function",
            "callback",
            "orig_func",
            "inner",
            "start",
        ),
        "function",
    ),
    **dict.fromkeys(
        (
            "scope",
            "new_scope",
            "state",
            "_arguments",
            "faults",
        ),
        "scope",
    ),
    **dict.fromkeys(("snapshot",), "snapshot"),
    **dict.fromkeys(
        (
            "alpha",
            "limit",
            "flag",
        ),
        "number",
    ),
    **dict.fromkeys(
        (
            "keepdim",
            "requires_grad",
            "mode",
            "enabled",
            "pin",
            "non_blocking",
            "copy",
            "create_graph",
        ),
        "boolean",
    ),
    **dict.fromkeys(
        (
            "retain_graph",
            "allow_unused",
            "pin_memory",
            "keep_graph",
            "enable_timing",
            "blocking",
        ),
        "boolean",
    ),
    **dict.fromkeys(
        (
            "name",
            "backend",
            "path",
            "text",
            "precision",
            "reduction",
            "capture_error_mode",
            "stacks",
        ),
        "text",
    ),
    **dict.fromkeys(
        (
            "nbytes",
            "stop",
            "seed",
            "version",
            "priority",
            "max_entries",
            "count",
        ),
        "integer",
    ),
}
"""The factory of plausible values by the name of the parameter."""


class Plausible:
    """Draws valid arguments from random numbers."""

    def __init__(self, drawn: random.Random, pool: Pool) -> None:
        self.random = drawn
        self.pool = pool
        self.huge = False
        """Whether a value was drawn that may exhaust memory or the stack; the pool may contain it."""

    def hostile(self) -> Made:
        """Return an invalid argument."""
        raise NotImplementedError

    def plausible(self, name: str) -> Made:
        """Return a value for the parameter of this name."""
        if name in BY_NAME:
            made: Made = getattr(self, BY_NAME[name])()
            return made
        return self.random.choice(
            (
                Plausible.tensor,
                Plausible.integer,
                Plausible.boolean,
                Plausible.number,
                Plausible.text,
                Plausible.own_object,
            )
        )(self)

    def integer(self) -> Made:
        """Return a small integer."""
        value = self.random.choice((0, 1, 2, 3, -1, -2, 5, 8, 64))
        return repr(value), value

    def boolean(self) -> Made:
        """Return a bool."""
        value = self.random.random() < 0.5
        return repr(value), value

    def number(self) -> Made:
        """Return a number."""
        value = self.random.choice((*FLOATS, 1, 0, True, 3))
        return repr(value), value

    def text(self) -> Made:
        """Return text that some function accepts."""
        value = self.random.choice(TEXTS)
        return repr(value[:40]), value

    def dim(self) -> Made:
        """Return a dimension, several, or None."""
        value = self.random.choice((0, 1, -1, 2, None, (0, 1), (0,), (), [0, 1], (0, 0)))
        return repr(value), value

    def size(self) -> Made:
        """Return a shape or part of one."""
        sizes = (2, 3, 0, 1, (2, 3), [4], (), (2, 0, 3), (1, 1, 5), -1, (-1,), (6,), (3, 2))
        value = self.random.choice(sizes)
        return repr(value), value

    def dtype(self) -> Made:
        """Return a dtype."""
        name = self.random.choice(("float32", "float64", "int64", "bool"))
        return name, getattr(interlock, name)

    def device(self) -> Made:
        """Return a device in one of its spellings."""
        value = self.random.choice(("cpu", "host", "host:0", "host:1", 0, 1, None))
        if isinstance(value, str) and self.random.random() < 0.3:
            return f"device({value!r})", interlock.device(value)
        return repr(value), value

    def key(self) -> Made:
        """Return an index of a tensor or a slice of a buffer."""
        keys: tuple[Any, ...] = (
            0,
            -1,
            slice(None),
            slice(1, None),
            slice(None, None, 2),
            Ellipsis,
            None,
            (0, 0),
            (slice(None), 0),
            [0, 1],
            [True, False],
            np.array([1, 0]),
            np.array([True, False]),
            interlock.tensor([0, 1]),
            interlock.tensor([True, False]),
            interlock.tensor(True),
            (None, [0], Ellipsis),
        )
        index = self.random.randrange(len(keys))
        return f"key {index}", keys[index]

    def tensor(self) -> Made:
        """Return a tensor of any kind."""
        shape = self.random.choice(((), (3,), (2, 3), (3, 2), (0,), (2, 0), (1, 4, 1), (2, 2), (4,)))
        _, dtype = self.dtype()
        where = self.random.choice(("cpu", "cpu", "host:0", "host:1"))
        made = interlock.ones(shape, dtype=dtype, device=where)
        text = f"ones({shape}, {dtype}, {where})"
        if dtype.is_floating_point and self.random.random() < 0.4:
            made.requires_grad_()
            text += ".requires_grad_()"
        way = self.random.randrange(7)
        if way == 1:
            return f"{text} * 2", made * 2
        if way == 2 and len(shape) == 2:
            return f"{text}.t()", made.t()
        if way == 3 and shape:
            return f"{text}[::2]", made[::2]
        if way == 4 and not made.requires_grad:
            return f"{text}.expand(5, ...)", made.expand(5, *shape)
        if way == 5:
            with interlock.inference_mode():
                return f"inference {text}", interlock.ones(shape, dtype=dtype)
        return text, made

    def tensors(self) -> Made:
        """Return one or several tensors."""
        made = [self.tensor() for _ in range(self.random.randrange(4))]
        text, values = ", ".join(text for text, _ in made), [value for _, value in made]
        return self.random.choice(((f"[{text}]", values), (f"({text},)", tuple(values)), self.tensor()))

    def array(self) -> Made:
        """Return a NumPy array: strided, read-only, byte-swapped, empty or of another element type."""
        kinds = ("f4", "f8", "i8", "?", ">f4", ">f8", ">i8", "i4", "u1", "c8", "O", "S3", "U2", "f2", "M8[s]")
        kind = self.random.choice(kinds)
        shape = self.random.choice(((), (4,), (2, 3), (0, 3), (1,), (3, 0), (2, 2, 2)))
        made = np.zeros(shape, kind)
        text = f"np.zeros({shape}, {kind!r})"
        way = self.random.randrange(8)
        if way == 1:
            made, text = made.T, f"{text}.T"
        elif way == 2 and shape:
            made, text = made[::-1], f"{text}[::-1]"
        elif way == 3:
            made.flags.writeable = False
            text += " read-only"
        elif way == 4:
            made, text = np.broadcast_to(made, (3, *shape)), f"{text} broadcast"
        elif way == 5 and made.dtype.kind == "f":
            data = np.zeros(made.nbytes + 1, "u1")[1:]
            made, text = data.view(made.dtype).reshape(shape), f"{text} unaligned"
        elif way == 6 and shape:
            made, text = made[..., ::2], f"{text}[..., ::2]"
        return text, made

    def data(self) -> Made:
        """Return data for `tensor`."""
        way = self.random.randrange(6)
        if way == 0:
            return self.array()
        if way == 1:
            return self.number()
        if way == 2:
            return self.tensor()
        values: tuple[Any, ...] = (
            [1, 2],
            [[1.0], [2.0]],
            [[], []],
            [1, [2]],
            [True, 2.5],
            ((1, 2), (3, 4)),
            [None],
        )
        value = self.random.choice(values)
        return repr(value), value

    def stream(self) -> Made:
        """Return a stream, or None."""
        ways: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("Stream()", interlock.Stream),
            ("Stream('host:1')", lambda: interlock.Stream("host:1")),
            ("Stream(dedicated=True)", lambda: interlock.Stream(dedicated=True)),
            ("current_stream()", accelerator.current_stream),
            ("None", lambda: None),
        )
        text, maker = self.random.choice(ways)
        return text, maker()

    def event(self) -> Made:
        """Return an event."""
        timing = self.random.random() < 0.5
        made = interlock.Event(enable_timing=timing)
        if self.random.random() < 0.5:
            made.record()
        return f"Event(enable_timing={timing})", made

    def buffer(self) -> Made:
        """Return a buffer, which may be closed, or another bytes-like object."""
        nbytes = self.random.choice((0, 1, 8, 64, 4096))
        made = Buffer(nbytes, self.random.choice(("host:0", "host:1")))
        if self.random.random() < 0.15:
            made.close()
            return f"Buffer({nbytes}) closed", made
        return f"Buffer({nbytes})", made

    def some_bytes(self) -> Made:
        """Return memory of the CPU or of a device."""
        ways: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("bytes(8)", lambda: bytes(8)),
            ("bytearray(8)", lambda: bytearray(8)),
            ("memoryview strided", lambda: memoryview(bytearray(16))[::2]),
            ("memoryview reversed", lambda: memoryview(bytearray(8))[::-1]),
            ("memoryview empty", lambda: memoryview(b"")),
            ("released memoryview", released),
            ("ctypes array", lambda: (ctypes.c_char * 8)()),
        )
        way = self.random.randrange(4)
        if way == 0:
            return self.buffer()
        if way == 1:
            return self.array()
        if way == 2:
            return self.tensor()
        text, maker = self.random.choice(ways)
        return text, maker()

    def graph(self) -> Made:
        """Return a graph, which may have captured work."""
        made = accelerator.Graph(self.random.random() < 0.5)
        if self.random.random() < 0.6:
            buffer = Buffer(8)
            with interlock.Stream(), made:
                accelerator.memory.fill_(buffer, 1)
            return "captured Graph", made
        return "Graph()", made

    def function(self) -> Made:
        """Return an object that can be called, decorated or resumed."""
        ways: tuple[tuple[str, Any], ...] = (
            ("len", len),
            ("lambda", lambda *_a, **_k: None),
            ("generator function", _generator),
            ("coroutine function", _coroutine),
            ("class", _Empty),
            ("raising", _raising),
            ("print.__call__", io.StringIO().write),
        )
        return self.random.choice(ways)

    def scope(self) -> Made:
        """Return a scope of modes or flags, a captured state or a registration."""
        ways: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("no_grad()", interlock.no_grad),
            ("inference_mode()", interlock.inference_mode),
            ("capture()", interlock.capture),
            ("capture(pin=True)", lambda: interlock.capture(pin=True)),
            ("apply()", lambda: interlock.capture().apply()),
            ("cudnn.flags()", backends.cudnn.flags),
            ("frozen()", backends.frozen),
            ("memory.MemoryTracker()", accelerator.memory.MemoryTracker),
            ("history()", accelerator.memory.history),
            ("on_oom(...)", lambda: accelerator.memory.on_oom(lambda _: False)),
            ("device_index(1)", lambda: accelerator.device_index(1)),
            ("FaultInjector()", testing.FaultInjector),
        )
        text, maker = self.random.choice(ways)
        return text, maker()

    def snapshot(self) -> Made:
        """Return a snapshot of flags or of memory."""
        if self.random.random() < 0.5:
            return "backends.snapshot()", backends.snapshot()
        return "memory.snapshot()", accelerator.memory.snapshot()

    def own_object(self) -> Made:
        """Return an object of the package."""
        makers = (
            Plausible.tensor,
            Plausible.stream,
            Plausible.event,
            Plausible.buffer,
            Plausible.graph,
            Plausible.scope,
            Plausible.dtype,
            Plausible.device,
            Plausible.snapshot,
        )
        return self.random.choice(makers)(self)

    def instance(self, cls: type) -> Made:
        """Return an instance of a class, from the pool or new, or else a hostile value."""
        found = self.pool.of(cls)
        if found and self.random.random() < 0.6:
            return f"<{cls.__name__} of the pool>", self.random.choice(found)
        if issubclass(cls, BaseException):
            return f"{cls.__name__}()", cls("text")
        for _ in range(8):
            made = self._maker_of(cls)(self)
            if isinstance(made[1], cls):
                return made
        if found:
            return f"<{cls.__name__} of the pool>", self.random.choice(found)
        candidates: tuple[tuple[Any, ...], ...] = ((), (True,), ("text",), (None,), ({},))
        for arguments in candidates:
            try:
                return f"{cls.__name__}{arguments}", cls(*arguments)
            except Exception:
                continue
        return self.hostile()

    def _maker_of(self, cls: type) -> Callable[[Plausible], Made]:
        makers: dict[str, Callable[[Plausible], Made]] = {
            "Tensor": Plausible.tensor,
            "Stream": Plausible.stream,
            "Event": Plausible.event,
            "Buffer": Plausible.buffer,
            "Graph": Plausible.graph,
            "dtype": Plausible.dtype,
            "device": Plausible.device,
        }
        return makers.get(cls.__name__, Plausible.own_object)


class _Empty:
    pass


def _generator(*_arguments: Any, **_named: Any) -> Iterator[int]:
    yield 1
    yield 2


async def _coroutine(*_arguments: Any, **_named: Any) -> int:
    return 1


def _raising(*_arguments: Any, **_named: Any) -> None:
    raise OwnError("on purpose")


def released() -> memoryview:
    view = memoryview(bytearray(4))
    view.release()
    return view
