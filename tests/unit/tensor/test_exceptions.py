"""Exceptions raised by the caller's objects while a tensor operation reads its arguments."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import accelerator, backends
from interlock.errors import ArgumentError


class Raises:
    """Raises an exception in `__index__`."""

    def __init__(self, exception: BaseException) -> None:
        self.exception = exception

    def __index__(self) -> int:
        raise self.exception


class Text:
    """Returns a str from `__index__`."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]


class Number(int):
    """An int whose conversions and comparisons are overridden."""

    def __float__(self) -> float:
        return 7.0

    def __lt__(self, other: object) -> bool:
        return True

    def __rshift__(self, other: object) -> int:
        return 0

    def __str__(self) -> str:
        raise KeyboardInterrupt


CALLS: dict[str, Callable[[Any], object]] = {
    "zeros": interlock.zeros,
    "zeros in a list": lambda it: interlock.zeros([2, it]),
    "index": lambda it: interlock.ones(2)[it],
    "slice": lambda it: interlock.ones(2)[it:],
    "assignment": lambda it: interlock.ones(2).__setitem__(it, 1),
    "sum": lambda it: interlock.ones(2).sum(it),
    "reshape": lambda it: interlock.ones(2).reshape(it),
    "size": lambda it: interlock.ones(2).size(it),
    "manual_seed": interlock.manual_seed,
    "set_limit": accelerator.memory.set_limit,
    "flag": lambda it: setattr(backends.cudnn, "benchmark_limit", it),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "exception",
    [KeyboardInterrupt(), MemoryError(), ValueError("own"), TypeError("own"), OverflowError("own")],
)
def test_exception_raised_in_index_passes_unchanged(
    call: Callable[[Any], object], exception: BaseException
) -> None:
    with pytest.raises(type(exception)) as caught:
        call(Raises(exception))
    assert caught.value is exception


def test_exception_of_a_signal_handler_in_index_passes_unchanged() -> None:
    class Interrupted(BaseException):
        pass

    class Signals:
        def __index__(self) -> int:
            signal.raise_signal(signal.SIGINT)
            return 1

    def handler(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, handler)
    try:
        for name in ("zeros", "index", "sum"):
            with pytest.raises(Interrupted):
                CALLS[name](Signals())
    finally:
        signal.signal(signal.SIGINT, before)


def test_index_that_returns_no_int_raises_type_error() -> None:
    # The message is CPython's, and another one since 3.15.
    for name in ("zeros", "index", "sum", "set_limit", "flag"):
        with pytest.raises(TypeError, match=r"__index__ returned non-int|__index__\(\) must return an int"):
            CALLS[name](Text())


@pytest.mark.parametrize("name", ["dtype", "item", "ndim"])
@pytest.mark.parametrize("exception", [KeyboardInterrupt(), MemoryError(), OverflowError("own")])
def test_tensor_passes_an_exception_of_an_attribute_unchanged(name: str, exception: BaseException) -> None:
    def raises(_: object) -> object:
        raise exception

    scalar = {"dtype": "own", "item": lambda self: 1.5, "__array_priority__": 0.0, "ndim": 0}
    item = type("Own", (), {**scalar, name: property(raises)})()
    calls: list[Callable[[], object]] = [
        lambda: interlock.tensor(item),
        lambda: interlock.tensor([item]),
        lambda: interlock.as_tensor([[1.0], [item]]),
        lambda: interlock.ones(2).__setitem__(0, item),
        lambda: interlock.ones(2).fill_(item),
    ]
    for call in calls:
        with pytest.raises(type(exception)) as caught:
            call()
        assert caught.value is exception


def test_grad_passes_an_exception_of_iter_unchanged() -> None:
    class Items:
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

    x = interlock.ones(2, requires_grad=True)
    with pytest.raises(KeyboardInterrupt):
        interlock.autograd.grad(x.sum(), Items())
    with pytest.raises(KeyboardInterrupt):
        interlock.autograd.grad(x.sum(), x, Items())
    with pytest.raises(TypeError, match="a Tensor, a GradientEdge or a sequence of them"):
        interlock.autograd.grad(x.sum(), 5)  # type: ignore[arg-type]


def test_stream_argument_passes_an_exception_of_its_protocol_unchanged() -> None:
    class Property:
        @property
        def __cuda_stream__(self) -> object:
            raise KeyboardInterrupt

    class Handle:
        def __cuda_stream__(self) -> object:
            return (0, Raises(KeyboardInterrupt()))

    for given in (Property(), Handle()):
        with pytest.raises(KeyboardInterrupt):
            accelerator.set_stream(given)  # type: ignore[arg-type]


def test_ints_are_read_without_the_methods_of_a_subclass() -> None:
    expected = float(2**70)
    assert interlock.tensor(Number(2**70), dtype=interlock.float64).tolist() == expected
    assert interlock.tensor([Number(2**70)], dtype=interlock.float32).tolist() == [expected]
    assert interlock.arange(3)[: Number(2**70)].tolist() == [0, 1, 2]
    assert interlock.arange(3)[Number(-(2**70)) :].tolist() == [0, 1, 2]
    with pytest.raises(ArgumentError, match=str(2**70)):
        interlock.tensor(Number(2**70))
    with pytest.raises(ArgumentError, match=str(2**70)):
        interlock.zeros(Number(2**70))
    with pytest.raises(ArgumentError, match=str(2**100)):
        accelerator.memory.set_limit(Number(2**100))


def test_limit_of_very_many_digits_raises_argument_error() -> None:
    with pytest.raises(ArgumentError, match="more than 128 bits"):
        accelerator.memory.set_limit(10**5000)
