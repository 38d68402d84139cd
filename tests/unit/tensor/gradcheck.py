"""Gradients from finite differences."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import numpy as np
import numpy.typing as npt
from interlock import Tensor

Array = npt.NDArray[np.float64]


def check(function: Callable[..., Tensor], *inputs: Array) -> None:
    """Compare the gradients of the sum of squares of a function with finite differences."""

    def value(*arrays: Array) -> float:
        with interlock.no_grad():
            return float((function(*map(interlock.tensor, arrays)) ** 2).sum())

    leaves = [interlock.tensor(array, requires_grad=True) for array in inputs]
    (function(*leaves) ** 2).sum().backward()
    step = 1e-6
    for which, leaf in enumerate(leaves):
        slopes = np.zeros_like(inputs[which])
        for at in np.ndindex(slopes.shape):
            moved = [[array.copy() for array in inputs] for _ in range(2)]
            moved[0][which][at] += step
            moved[1][which][at] -= step
            slopes[at] = (value(*moved[0]) - value(*moved[1])) / (2 * step)
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.cpu().numpy(), slopes, rtol=1e-5, atol=1e-6)
