"""Arguments of the API fuzzer: plausible ones by the name of the parameter, and hostile ones."""

from __future__ import annotations

import ctypes
import gc
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import numpy as np
from interlock import accelerator, backends, errors
from interlock.accelerator.memory import Buffer

Made = tuple[str, Any]
"""A description, which is built without calling the value, and the value."""

HUGE = (2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 10**400, -(10**400))
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


# A method that always answers is an endless sequence for CPython.
MOST_CALLS = 30


class OwnError(Exception):
    """Raised by hostile values on purpose."""


class OwnBaseError(BaseException):
    """Raised by hostile values on purpose; no handler of Exception catches it."""


class Pool:
    """The objects that calls returned and that later calls use."""

    LARGEST = 60

    def __init__(self, drawn: random.Random) -> None:
        self.random = drawn
        self.objects: list[Any] = []
        self.depth = 0

    def add(self, value: Any) -> None:
        """Store an object, in the place of a random one when the pool is full."""
        if len(self.objects) < self.LARGEST:
            self.objects.append(value)
        else:
            self.objects[self.random.randrange(len(self.objects))] = value

    def of(self, cls: type) -> list[Any]:
        """Return the objects of a class."""
        return [value for value in self.objects if issubclass(type(value), cls)]

    # What a hostile special method does in the middle of a call. Modes and flags stay as they were.

    def disturb(self) -> None:
        """Call back into interlock, or take away what the running call uses."""
        if self.depth > 2:
            return
        self.depth += 1
        try:
            effect = self.random.choice(self.EFFECTS)
            effect(self)
        except Exception as error:
            if type(error).__name__ == "SystemError":
                raise
        finally:
            self.depth -= 1

    def forget(self) -> None:
        """Drop every object of the pool."""
        self.objects.clear()

    def collect(self) -> None:
        """Run the cyclic garbage collector for young objects."""
        gc.collect(0)

    def scopes(self) -> None:
        """Enter and leave scopes of modes and flags."""
        with interlock.no_grad(), interlock.inference_mode(), backends.override({"cudnn.enabled": False}):
            interlock.ones(2).mul_(3.0)

    def write(self) -> None:
        """Write a flag and write it back."""
        with interlock.capture().apply(), backends.cudnn.flags():
            backends.cudnn.benchmark = not backends.cudnn.benchmark

    def freeze(self) -> None:
        """Freeze flags and unfreeze them."""
        with backends.frozen():
            assert backends.flags_frozen()

    def spoil(self) -> None:
        """Write into every tensor of the pool, fill buffers and close them."""
        for value in list(self.objects):
            if isinstance(value, interlock.Tensor):
                if value.numel() > 1 << 20:
                    continue
                with interlock.no_grad():
                    value.fill_(7)
            elif isinstance(value, Buffer):
                value.close()
            elif isinstance(value, list):
                value.clear()
            elif isinstance(value, bytearray):
                value.extend(b"more")

    def wait(self) -> None:
        """Wait for the current device."""
        accelerator.synchronize()

    def work(self) -> None:
        """Compute something with gradients on a device."""
        leaf = interlock.ones(3, device="host:1", requires_grad=True)
        (leaf * 2).sum().backward()

    def fail(self) -> None:
        """Raise."""
        raise OwnError("on purpose")

    EFFECTS: tuple[Callable[[Pool], None], ...] = (
        forget,
        collect,
        scopes,
        write,
        freeze,
        spoil,
        wait,
        work,
        fail,
    )


class Values:
    """Makes arguments out of random numbers."""

    def __init__(self, drawn: random.Random, pool: Pool) -> None:
        self.random = drawn
        self.pool = pool
        self.huge = False
        """Whether a value was made that may exhaust memory or the stack; the pool may hold it."""

    def argument(self, name: str) -> Made:
        """Return a value for a parameter: mostly one that fits, else a hostile one."""
        chance = self.random.random()
        if chance < 0.55:
            return self.plausible(name)
        if chance < 0.7 and self.pool.objects:
            value = self.random.choice(self.pool.objects)
            return f"<{type(value).__name__} of the pool>", value
        return self.hostile()

    # Plausible values

    def plausible(self, name: str) -> Made:
        """Return a value as the parameter of this name takes it."""
        for words, maker in self.BY_NAME:
            if name in words:
                return maker(self)
        return self.random.choice(
            (Values.tensor, Values.integer, Values.boolean, Values.number, Values.text, Values.own_object)
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
        """Return text that some function takes."""
        value = self.random.choice(TEXTS)
        return repr(value[:40]), value

    def dim(self) -> Made:
        """Return a dimension, several, or None."""
        value = self.random.choice((0, 1, -1, 2, None, (0, 1), (0,), (), [0, 1], (0, 0)))
        return repr(value), value

    def size(self) -> Made:
        """Return a shape or a part of one."""
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
        """Return what `tensor` takes."""
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
            ("Stream(exclusive=True)", lambda: interlock.Stream(exclusive=True)),
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
        """Return a buffer, which may be closed, or other bytes."""
        nbytes = self.random.choice((0, 1, 8, 64, 4096))
        made = Buffer(nbytes, self.random.choice(("host:0", "host:1")))
        if self.random.random() < 0.15:
            made.close()
            return f"Buffer({nbytes}) closed", made
        return f"Buffer({nbytes})", made

    def some_bytes(self) -> Made:
        """Return memory of the processor or of a device."""
        ways: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("bytes(8)", lambda: bytes(8)),
            ("bytearray(8)", lambda: bytearray(8)),
            ("memoryview strided", lambda: memoryview(bytearray(16))[::2]),
            ("memoryview reversed", lambda: memoryview(bytearray(8))[::-1]),
            ("memoryview empty", lambda: memoryview(b"")),
            ("released memoryview", _released),
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
        """Return a graph, which may hold work."""
        made = accelerator.Graph(self.random.random() < 0.5)
        if self.random.random() < 0.6:
            buffer = Buffer(8)
            with interlock.Stream(), made:
                accelerator.memory.fill_(buffer, 1)
            return "captured Graph", made
        return "Graph()", made

    def function(self) -> Made:
        """Return something that can be called, decorated or resumed."""
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
            ("memory.scope()", accelerator.memory.scope),
            ("history()", accelerator.memory.history),
            ("on_oom(...)", lambda: accelerator.memory.on_oom(lambda _: False)),
            ("device_index(1)", lambda: accelerator.device_index(1)),
            ("Faults()", accelerator.Faults),
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
            Values.tensor,
            Values.stream,
            Values.event,
            Values.buffer,
            Values.graph,
            Values.scope,
            Values.dtype,
            Values.device,
            Values.snapshot,
        )
        return self.random.choice(makers)(self)

    def instance(self, cls: type) -> Made:
        """Return an instance of a class: one of the pool or a new one, else a hostile value."""
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

    def _maker_of(self, cls: type) -> Callable[[Values], Made]:
        makers: dict[str, Callable[[Values], Made]] = {
            "Tensor": Values.tensor,
            "Stream": Values.stream,
            "Event": Values.event,
            "Buffer": Values.buffer,
            "Graph": Values.graph,
            "dtype": Values.dtype,
            "device": Values.device,
        }
        return makers.get(cls.__name__, Values.own_object)

    # Hostile values

    def hostile(self) -> Made:
        """Return a value that no caller should pass."""
        return self.random.choice(self.HOSTILE)(self)

    def anything(self) -> Made:
        """Return a value of the package or a hostile one."""
        return self.own_object() if self.random.random() < 0.75 else self.hostile()

    def huge_number(self) -> Made:
        """Return a number that overflows, or a shape with one."""
        self.huge = True
        value = self.random.choice(HUGE)
        shapes: tuple[Any, ...] = (value, value, (value,), (value, 0), (2, value), [value, value])
        made = self.random.choice(shapes)
        return f"huge {self.random.choice(['', '~'])}{str(made)[:40]}", made

    def odd_number(self) -> Made:
        """Return a float, a complex number or a scalar of NumPy."""
        value = self.random.choice(
            (
                *FLOATS,
                1j,
                complex("nan"),
                np.float32(1),
                np.int64(-3),
                np.bool_(True),
                np.float16("inf"),
                np.str_("x"),
            )
        )
        return repr(value), value

    def odd_object(self) -> Made:
        """Return a plain object of a wrong type."""
        ways: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("None", lambda: None),
            ("object()", object),
            ("{}", dict),
            ("set()", set),
            ("Ellipsis", lambda: ...),
            ("NotImplemented", lambda: NotImplemented),
            ("type", lambda: type),
            ("Tensor class", lambda: interlock.Tensor),
            ("module", lambda: interlock),
            ("range(3)", lambda: range(3)),
            ("generator", lambda: (value for value in range(3))),
            ("OwnError()", OwnError),
            ("errors.OutOfMemoryError", lambda: errors.OutOfMemoryError),
            ("lambda", lambda: lambda: None),
            ("bytes", lambda: b"\0\1"),
            ("frozenset", lambda: frozenset((1,))),
        )
        text, maker = self.random.choice(ways)
        return text, maker()

    def lying_array(self) -> Made:
        """Return a subclass of ndarray whose attributes are not those of its memory."""
        lies: dict[str, Any] = {
            "shape": property(lambda _: (10**8,)),
            "strides": property(lambda _: (1 << 40,)),
            "ndim": property(lambda _: 7),
            "size": property(lambda _: 1 << 40),
            "nbytes": property(lambda _: 1 << 40),
            "dtype": property(lambda _: np.dtype("f8")),
            "flags": property(lambda _: None),
            "data": property(lambda _: b""),
            "__array_interface__": property(lambda _: INTERFACES[0]),
            "copy": lambda self, *_a, **_k: self,
            "astype": lambda self, *_a, **_k: self,
            "__len__": lambda _: 1 << 40,
            "__iter__": lambda self: iter([self]),
            "__array__": lambda *_a, **_k: 3,
            "__array_priority__": 1e9,
            "tolist": lambda self: self,
            "__buffer__": lambda *_: memoryview(b""),
        }
        chosen = self.random.sample(sorted(lies), self.random.randrange(1, 4))
        cls = type("LyingArray", (np.ndarray,), {name: lies[name] for name in chosen})
        kind = self.random.choice(("f4", "f8", "i8", "?", ">f8"))
        made: Any = np.zeros((2, 2), kind).view(cls)
        if self.random.random() < 0.3:
            np.ndarray.setflags(made, write=False)
        return f"ndarray({kind}) lying about {', '.join(chosen)}", made

    def lying_subclass(self) -> Made:
        """Return an int, str, list, tuple, dict or float whose special methods disturb or lie."""
        base, value = self.random.choice(
            (
                (int, 1),
                (str, "host"),
                (list, [1, 2]),
                (tuple, (2, 3)),
                (dict, {"cudnn.enabled": False}),
                (float, 1.5),
            )
        )
        pool = self.pool
        names: tuple[str, ...] = (
            "__len__",
            "__iter__",
            "__eq__",
            "__hash__",
            "__index__",
            "__bool__",
            "__getitem__",
            "__str__",
        )
        names += ("__float__", "__int__", "items", "keys", "__contains__", "__repr__", "encode", "__class__")
        chosen = self.random.sample(names, self.random.randrange(1, 4))
        answers = (1 << 62, -1, 0, None, "text", object(), 2.5, True)
        body: dict[str, Any] = {}
        for name in chosen:
            answer = self.random.choice(answers)
            body[name] = _disturbing(pool, answer)
            if name == "__class__":
                body[name] = property(lambda _: self.random.choice((int, list, np.ndarray, interlock.Tensor)))
        if "__eq__" in body and "__hash__" not in body:
            body["__hash__"] = base.__hash__
        cls = type(f"Lying{base.__name__}", (base,), body)
        return f"{base.__name__} lying about {', '.join(chosen)}", cls(value)

    def reentrant(self) -> Made:
        """Return an object whose conversions call back into interlock."""
        pool = self.pool
        names: tuple[str, ...] = (
            "__index__",
            "__bool__",
            "__float__",
            "__iter__",
            "__len__",
            "__int__",
            "__fspath__",
            "__call__",
        )
        names += (
            "__enter__",
            "__exit__",
            "__array__",
            "__radd__",
            "__rmatmul__",
            "__lt__",
            "__next__",
            "__getattr__",
        )
        answers: dict[str, Any] = {
            "__bool__": True,
            "__float__": 1.0,
            "__len__": 2,
            "__fspath__": "file",
            "__exit__": None,
        }
        chosen = self.random.sample(names, self.random.randrange(2, 6))
        body: dict[str, Any] = {}
        for name in chosen:
            answer = answers.get(name, 1)
            if name == "__iter__":
                answer = iter([1, 2])
            if self.random.random() < 0.15:
                answer = self.random.choice((None, "x", -1, 1 << 70))
            body[name] = _disturbing(pool, answer)
        cls = type("Reentrant", (), body)
        return f"object with {', '.join(chosen)}", cls()

    def dying(self) -> Made:
        """Return a list or tuple whose elements call back when they are destroyed."""
        pool = self.pool
        cls = type("Dying", (), {"__del__": lambda _: pool.disturb(), "__index__": lambda _: 1})
        return self.random.choice(
            (("Dying()", cls()), ("[Dying()]", [cls(), cls()]), ("(Dying(),)", (cls(),)))
        )

    def changing(self) -> Made:
        """Return a list that changes its length while it is iterated over or converted."""
        values: list[Any] = []
        self.pool.add(values)

        def shrink(_: object) -> int:
            values.clear()
            return 1

        index = type("Shrink", (), {"__index__": shrink, "__float__": lambda self: float(shrink(self))})
        values += [1, index(), 2, index(), 3]
        return "list that shrinks", values

    def nested(self) -> Made:
        """Return a sequence that is nested too deeply, or contains itself."""
        self.huge = True
        if self.random.random() < 0.5:
            loop: list[Any] = []
            loop.append(loop)
            return "list in itself", loop
        deep: list[Any] = [1]
        for _ in range(self.random.choice((60, 400, 3000))):
            deep = [deep]
        return "deep list", deep

    def endless(self) -> Made:
        """Return an iterator that ends by an exception of its own."""
        error = self.random.choice((OwnError, OwnBaseError, StopIteration, KeyError, GeneratorExit))

        def values() -> Iterator[Any]:
            yield 1
            yield interlock.ones(2)
            raise OwnError if error is StopIteration else error("on purpose")

        return f"iterator raising {error.__name__}", values()

    def raising(self) -> Made:
        """Return an object every special method of which raises."""
        error = self.random.choice((OwnError, OwnBaseError, AttributeError, TypeError))

        def raises(*_a: Any, **_k: Any) -> Any:
            raise error("on purpose")

        names: tuple[str, ...] = (
            "__index__",
            "__len__",
            "__iter__",
            "__bool__",
            "__float__",
            "__eq__",
            "__hash__",
            "__repr__",
            "__str__",
        )
        names += ("__array__", "__cuda_stream__", "__dlpack__", "__call__", "__enter__", "__fspath__")
        cls = type("Raising", (), dict.fromkeys(names, raises))
        if self.random.random() < 0.3:
            cls = type("RaisingAll", (), {"__getattribute__": raises})
        return f"{cls.__name__}({error.__name__})", cls()

    def lying_interface(self) -> Made:
        """Return an object with an interface to memory or to a stream that is not what it says."""
        number = self.random.randrange(len(INTERFACES))
        interface = INTERFACES[number]
        name = self.random.choice(("__array_interface__", "__cuda_array_interface__", "__array_struct__"))
        body: dict[str, Any] = {name: interface}
        if self.random.random() < 0.3:
            body[name] = property(_disturbing(self.pool, interface))
        return f"object with {name} {number}", type("Lying", (), body)()

    def lying_stream(self) -> Made:
        """Return an object with a stream that is not there."""
        answers: tuple[Any, ...] = (
            0,
            None,
            (0,),
            (0, -1),
            (1, 2),
            (0, 1 << 70),
            "ab",
            (0, "x"),
            [0, 3],
            (0, 0),
        )
        answer = self.random.choice(answers)
        return f"__cuda_stream__ {answer}", type(
            "LyingStream", (), {"__cuda_stream__": _disturbing(self.pool, answer)}
        )()

    def lying_dlpack(self) -> Made:
        """Return an object with capsules that are used up, or are none."""
        buffer = Buffer(16)
        used = buffer.__dlpack__()
        np.from_dlpack(_Once(used))
        answers: tuple[Any, ...] = (used, None, 3, object())
        answer = self.random.choice(answers)
        body = {
            "__dlpack__": _disturbing(self.pool, answer),
            "__dlpack_device__": _disturbing(
                self.pool, self.random.choice(((1, 0), (2, 0), None, (99, -1), "ab"))
            ),
        }
        return f"lying __dlpack__ {type(answer).__name__}", type("LyingDLPack", (), body)()

    def closed(self) -> Made:
        """Return an object that was closed, freed, reset or ended."""
        way = self.random.randrange(5)
        if way == 0:
            buffer = Buffer(8)
            part = buffer[2:4]
            buffer.close()
            return "closed Buffer", self.random.choice((buffer, part))
        if way == 1:
            leaf = interlock.ones(2, requires_grad=True)
            result = (leaf * leaf).sum()
            result.backward()
            return "result whose graph is freed", result
        if way == 2:
            graph = accelerator.Graph()
            graph.reset()
            return "reset Graph", graph
        if way == 3:
            return "released memoryview", _released()
        file = io.BytesIO(b"text")
        file.close()
        return "closed file", file

    def huge_tensor(self) -> Made:
        """Return a tensor that has many elements and little memory, or an array of that kind."""
        self.huge = True
        count = self.random.choice((1 << 14, 1 << 33, 1 << 40, (1 << 62)))
        if self.random.random() < 0.3 and count < 1 << 60:
            return f"broadcast array of {count}", np.broadcast_to(np.float32(1), (count,))
        dtype = self.dtype()[1]
        made = interlock.ones(1, dtype=dtype)
        try:
            return f"ones(1, {dtype}).expand({count})", made.expand(count)
        except RuntimeError:
            return f"ones(1, {dtype})", made

    BY_NAME: tuple[tuple[tuple[str, ...], Callable[[Values], Made]], ...] = ()
    HOSTILE: tuple[Callable[[Values], Made], ...] = (
        huge_number,
        odd_number,
        odd_object,
        lying_array,
        lying_subclass,
        reentrant,
        reentrant,
        dying,
        changing,
        nested,
        endless,
        raising,
        lying_interface,
        lying_stream,
        lying_dlpack,
        closed,
        huge_tensor,
        text,
        array,
    )


Values.BY_NAME = (
    (("anything",), Values.anything),
    (("hostile", "other"), Values.hostile),
    (("dim", "dim0", "dim1", "dims", "index", "axis"), Values.dim),
    (("size", "sizes", "shape", "stride", "storage_offset"), Values.size),
    (("dtype",), Values.dtype),
    (("device", "device_index", "type"), Values.device),
    (("key",), Values.key),
    (
        ("input", "src", "gradient", "grad", "target", "value", "fill_value", "exponent", "tensor"),
        Values.tensor,
    ),
    (("tensors", "outputs", "inputs", "grad_tensors", "grad_outputs"), Values.tensors),
    (("data", "start", "end", "step"), Values.data),
    (("ndarray",), Values.array),
    (("stream",), Values.stream),
    (("event", "end_event"), Values.event),
    (("buffer",), Values.buffer),
    (("source", "destination"), Values.some_bytes),
    (("pool", "graph"), Values.graph),
    (("function", "callback", "orig_func", "inner", "start"), Values.function),
    (("scope", "new_scope", "state", "_arguments", "faults"), Values.scope),
    (("snapshot",), Values.snapshot),
    (("alpha", "limit", "flag"), Values.number),
    (
        ("keepdim", "requires_grad", "mode", "enabled", "pin", "non_blocking", "copy", "create_graph"),
        Values.boolean,
    ),
    (
        ("retain_graph", "allow_unused", "pin_memory", "keep_graph", "enable_timing", "blocking"),
        Values.boolean,
    ),
    (
        ("name", "backend", "path", "text", "precision", "reduction", "capture_error_mode", "stacks"),
        Values.text,
    ),
    (("nbytes", "stop", "seed", "version", "priority", "max_entries", "count"), Values.integer),
)


def _interfaces() -> tuple[Any, ...]:
    """Return array interfaces that lie; none of them leads to an address outside of the array."""
    array = np.zeros(4)
    good = dict(array.__array_interface__)
    good["keeps"] = array
    return (
        {**good, "strides": (8,), "shape": (4,), "typestr": "<f8", "descr": None},
        {**good, "shape": (-1,)},
        {**good, "shape": "ab"},
        {**good, "typestr": "<zz"},
        {**good, "typestr": ">f8"},
        {**good, "data": None},
        {**good, "data": (0, False), "shape": (0,)},
        {**good, "version": 99},
        {**good, "version": None},
        {**good, "strides": (1, 2, 3)},
        {**good, "mask": object()},
        {**good, "stream": -5},
        {**good, "data": (good["data"][0], True)},
        {},
        None,
        7,
        good,
    )


INTERFACES = _interfaces()


class _Empty:
    pass


class _Once:
    """Gives the same capsule to every consumer."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_named: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _generator(*_arguments: Any, **_named: Any) -> Iterator[int]:
    yield 1
    yield 2


async def _coroutine(*_arguments: Any, **_named: Any) -> int:
    return 1


def _raising(*_arguments: Any, **_named: Any) -> None:
    raise OwnError("on purpose")


def _released() -> memoryview:
    view = memoryview(bytearray(4))
    view.release()
    return view


def _disturbing(pool: Pool, answer: Any) -> Callable[..., Any]:
    """Return a method that disturbs the pool and returns `answer`; it ends what calls it without an end."""
    calls = 0

    def method(*_arguments: Any, **_named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > MOST_CALLS:
            raise OwnError("called again and again")
        pool.disturb()
        return answer

    return method
