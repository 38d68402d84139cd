"""The workspace of a product on a device: memory of the caching allocator while the product is queued."""

from __future__ import annotations

from typing import Any

import interlock
import pytest
from interlock import Stream, Tensor, accelerator, backends, errors
from interlock.accelerator import Graph

pytestmark = pytest.mark.usefixtures("host_accessible_memory", "empty_cache_around")

MIB = 1 << 20
RESULT = 512


def peak_of_product(x: Tensor) -> int:
    """Return the bytes that a product adds to the allocated memory at its peak."""
    before = accelerator.memory_allocated(x.device)
    accelerator.reset_peak_memory_stats(x.device)
    y = x @ x
    assert accelerator.memory_allocated(x.device) == before + (RESULT if y.numel() else 0)
    return accelerator.max_memory_allocated(x.device) - before


@pytest.mark.parametrize("library", ["cublas", "cublaslt"])
@pytest.mark.parametrize("size", [0, 1000, MIB, 3 * MIB])
def test_product_allocates_its_workspace_while_it_is_queued(
    devices: tuple[str, ...], size: int, library: Any
) -> None:
    x = interlock.ones(2, 2, device=devices[0])
    sizes = {"cuda.cublas_workspace": 2 * MIB, "cuda.cublaslt_workspace": 2 * MIB}
    changed: Any = sizes | {f"cuda.{library}_workspace": size, "cuda.blas_library": library}
    with backends.override(changed):
        assert peak_of_product(x) == RESULT + -(-size // 512) * 512


def test_default_size_is_that_of_the_library(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, device=devices[0])
    assert peak_of_product(x) == RESULT + 8_519_680
    with backends.override({"cuda.blas_library": "cublaslt"}):
        assert peak_of_product(x) == RESULT + MIB


def test_rounded_inputs_are_allocated_too(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, device=devices[0])
    with backends.override({"cuda.cublas_workspace": 0, "cuda.matmul.fp32_precision": "tf32"}):
        assert peak_of_product(x) == 3 * RESULT


def test_products_that_the_library_does_not_run_have_no_workspace(devices: tuple[str, ...]) -> None:
    assert peak_of_product(interlock.ones(2, 2, dtype=interlock.int64, device=devices[0])) == RESULT
    assert peak_of_product(interlock.ones(0, 0, device=devices[0])) == 0


def test_captured_product_has_no_workspace(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, device=devices[0])
    graph, stream = Graph(), Stream(devices[0])
    accelerator.synchronize(devices[0])
    before = accelerator.memory_allocated(devices[0])
    accelerator.reset_peak_memory_stats(devices[0])
    with stream, graph:
        y = x @ x
    assert accelerator.max_memory_allocated(devices[0]) - before == RESULT
    graph.replay()
    assert y.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.usefixtures("small_devices")
def test_product_without_memory_for_its_workspace_raises(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, device=devices[0])
    for library, size in (("cublas", 1 << 40), ("cublaslt", 1 << 60)):
        changed: Any = {f"cuda.{library}_workspace": size, "cuda.blas_library": library}
        text = f"on {devices[0]} for backends.cuda.{library}_workspace "
        with backends.override(changed), pytest.raises(errors.OutOfMemoryError, match=text):
            x @ x
    assert (x @ x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
