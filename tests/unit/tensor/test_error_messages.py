"""The errors of tensors: the expression, the exception and its whole message."""

from __future__ import annotations

import copy
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError, DeviceError, DTypeError, GraphFreedError, ShapeError

from tests.helpers.ids import stable_repr

NAN, INF = float("nan"), float("inf")


def inference() -> interlock.Tensor:
    with interlock.inference_mode():
        return interlock.ones(2)


def leaf(*size: int) -> interlock.Tensor:
    return interlock.ones(*size, requires_grad=True)


def untracked_view() -> interlock.Tensor:
    base = leaf(2) * 1
    with interlock.no_grad():
        return base[0]


def backward_twice() -> None:
    y = (leaf(2) * leaf(2)).sum()
    y.backward()
    y.backward()


def backward_after_a_change() -> None:
    x = leaf(2) * 1
    y = (x * x).sum()
    x.add_(1)
    y.backward()


def own_gradient() -> None:
    x = interlock.ones(2)
    x.grad = x


