"""A greenlet inside a function that autograd or an operation calls does not affect other greenlets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import greenlet
import interlock
import pytest
from interlock import autograd, dispatch
from interlock.autograd import graph

Switch = Callable[[], object]
NUMBERS = itertools.count()


def in_a_hook(x: interlock.Tensor, switch: Switch) -> None:
    y = x * 2
    y.register_hook(lambda grad: switch())
    y.sum().backward()


def in_a_hook_of_a_node(x: interlock.Tensor, switch: Switch) -> None:
    y = x * 2
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda grads: switch())
    y.sum().backward()


class Doubled(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: interlock.Tensor, switch: Switch) -> interlock.Tensor:
        ctx.switch = switch
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: interlock.Tensor) -> tuple[interlock.Tensor, None]:
        ctx.switch()
        return grad * 2, None


def in_a_backward_function(x: interlock.Tensor, switch: Switch) -> None:
    Doubled.apply(x, switch).sum().backward()


def in_a_kernel(x: interlock.Tensor, switch: Switch) -> None:
    def kernel(a: interlock.Tensor, b: interlock.Tensor) -> interlock.Tensor:
        switch()
        return a * 1

    with dispatch.register_kernel("matmul", f"switching{next(NUMBERS)}", kernel):
        (x @ x).sum().backward()


def in_a_pack_hook(x: interlock.Tensor, switch: Switch) -> None:
    def pack(tensor: interlock.Tensor) -> interlock.Tensor:
        switch()
        return tensor

    with graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = x * x
    y.sum().backward()


def in_an_unpack_hook(x: interlock.Tensor, switch: Switch) -> None:
    def unpack(tensor: interlock.Tensor) -> interlock.Tensor:
        switch()
        return tensor

    with graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = x * x
    y.sum().backward()


FUNCTIONS = [
    in_a_hook,
    in_a_hook_of_a_node,
    in_a_backward_function,
    in_a_kernel,
    in_a_pack_hook,
    in_an_unpack_hook,
]


def records() -> tuple[bool, bool]:
    return interlock.is_grad_enabled(), (interlock.ones(1, requires_grad=True) * 2).requires_grad


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_greenlets_have_their_own_modes(function: Callable[..., None]) -> None:
    main, inside = greenlet.getcurrent(), []

    def switch() -> None:
        inside.append(interlock.is_grad_enabled())
        main.switch()
        # The modes of the function have not changed.
        inside.append(interlock.is_grad_enabled())

    x = interlock.ones(2, 2, requires_grad=True)
    running = greenlet.greenlet(lambda: function(x, switch))
    running.switch()
    while running:
        assert records() == (True, True)
        with interlock.no_grad():
            assert records() == (False, False)
        running.switch()
    assert inside
    assert not any(inside)
    assert records() == (True, True)
    # The backward pass has recorded nothing.
    assert x.grad is not None
    assert not x.grad.requires_grad


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_several_greenlets_overlap(function: Callable[..., None]) -> None:
    main, inside = greenlet.getcurrent(), []

    def switch() -> None:
        main.switch()
        inside.append(interlock.is_grad_enabled())

    def run() -> None:
        function(interlock.ones(2, 2, requires_grad=True), switch)
        assert records() == (True, True)

    running = [greenlet.greenlet(run) for _ in range(4)]
    for each in running:
        each.switch()
    while any(running):
        for each in running:
            assert records() == (True, True)
            each.switch()
    assert not any(inside)
    assert records() == (True, True)
