"""The objects that calls of the API fuzzer use, and the side effects of hostile methods during a call."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import interlock
from interlock import accelerator, backends
from interlock.accelerator.memory import Buffer

# A method that always returns a value is an infinite sequence for CPython.
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
        """Store an object; if the pool is full, it replaces a random one."""
        if len(self.objects) < self.LARGEST:
            self.objects.append(value)
        else:
            self.objects[self.random.randrange(len(self.objects))] = value

    def of(self, cls: type) -> list[Any]:
        """Return the objects of a class."""
        return [value for value in self.objects if issubclass(type(value), cls)]

    # Side effects of a hostile special method during a call. They keep modes and flags unchanged.

    def disturb(self) -> None:
        """Call back into interlock, or destroy objects that the running call uses."""
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
        """Enter and exit scopes of modes and flags."""
        with interlock.no_grad(), interlock.inference_mode(), backends.override({"cudnn.enabled": False}):
            interlock.ones(2).mul_(3.0)

    def write(self) -> None:
        """Write a flag and restore it."""
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


def disturbing(pool: Pool, answer: Any) -> Callable[..., Any]:
    """Return a method that disturbs the pool and returns `answer`; it raises after too many calls."""
    calls = 0

    def method(*_arguments: Any, **_named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > MOST_CALLS:
            raise OwnError("called again and again")
        pool.disturb()
        return answer

    return method
