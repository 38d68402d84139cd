"""Hostile arguments for the API fuzzer: inconsistent, reentrant, mutating, raising, overflowing or closed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import numpy as np
from interlock import accelerator, errors
from interlock.accelerator.memory import Buffer

from tests.fuzz.plausible import FLOATS, Made, Plausible, released
from tests.fuzz.pool import OwnBaseError, OwnError, disturbing

HUGE = (2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 10**400, -(10**400))


class Values(Plausible):
    """Draws valid and hostile arguments from random numbers."""

    def argument(self, name: str) -> Made:
        """Return a value for a parameter: mostly a valid one, else a hostile one."""
        chance = self.random.random()
        if chance < 0.55:
            return self.plausible(name)
        if chance < 0.7 and self.pool.objects:
            value = self.random.choice(self.pool.objects)
            return f"<{type(value).__name__} of the pool>", value
        return self.hostile()

    def hostile(self) -> Made:
        """Return an invalid argument."""
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
        # CPython allocates `__len__` elements before it iterates.
        self.huge |= "__len__" in chosen
        made: Any = np.zeros((2, 2), kind).view(cls)
        if self.random.random() < 0.3:
            np.ndarray.setflags(made, write=False)
        return f"ndarray({kind}) lying about {', '.join(chosen)}", made

    def lying_subclass(self) -> Made:
        """Return an int, str, list, tuple, dict or float with hostile or inconsistent special methods."""
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
            body[name] = disturbing(pool, answer)
            if name == "__class__":
                body[name] = property(lambda _: self.random.choice((int, list, np.ndarray, interlock.Tensor)))
        if "__eq__" in body and "__hash__" not in body:
            body["__hash__"] = base.__hash__
        self.huge |= "__len__" in chosen
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
            body[name] = disturbing(pool, answer)
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
        """Return an iterator that ends with an unusual exception."""
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
        """Return an object with an inconsistent memory or stream interface."""
        number = self.random.randrange(len(INTERFACES))
        interface = INTERFACES[number]
        name = self.random.choice(("__array_interface__", "__cuda_array_interface__", "__array_struct__"))
        body: dict[str, Any] = {name: interface}
        if self.random.random() < 0.3:
            body[name] = property(disturbing(self.pool, interface))
        return f"object with {name} {number}", type("Lying", (), body)()

    def lying_stream(self) -> Made:
        """Return an object with an invalid stream."""
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
            "LyingStream", (), {"__cuda_stream__": disturbing(self.pool, answer)}
        )()

    def lying_dlpack(self) -> Made:
        """Return an object with capsules that are consumed or invalid."""
        buffer = Buffer(16)
        used = buffer.__dlpack__()
        np.from_dlpack(_Once(used))
        answers: tuple[Any, ...] = (used, None, 3, object())
        answer = self.random.choice(answers)
        body = {
            "__dlpack__": disturbing(self.pool, answer),
            "__dlpack_device__": disturbing(
                self.pool, self.random.choice(((1, 0), (2, 0), None, (99, -1), "ab"))
            ),
        }
        return f"lying __dlpack__ {type(answer).__name__}", type("LyingDLPack", (), body)()

    def closed(self) -> Made:
        """Return an object that was closed, freed, reset or exited."""
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
            return "released memoryview", released()
        file = io.BytesIO(b"text")
        file.close()
        return "closed file", file

    def huge_tensor(self) -> Made:
        """Return a tensor or array with many elements in little memory."""
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
        Plausible.text,
        Plausible.array,
    )


def _interfaces() -> tuple[Any, ...]:
    """Return inconsistent array interfaces; none of them refers to an address outside of the array."""
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


class _Once:
    """Returns one capsule to every consumer."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_named: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
