"""Comparison of the bits of results that are computed on several threads."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import numpy as np


def bits(compute: Callable[[], interlock.Tensor], threads: int) -> bytes:
    """Return the bytes of a result that is computed on up to this many threads."""
    interlock.set_num_threads(threads)
    return np.asarray(compute()).tobytes()


def assert_same_bits(compute: Callable[[], interlock.Tensor], what: object = "") -> None:
    """Fail if the bits of a result depend on the number of threads."""
    expected = bits(compute, 1)
    assert all(bits(compute, threads) == expected for threads in (2, 3)), what
