"""Operations on several threads, and the number of threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError

from tests.helpers.subprocess import Result, eval_program, run_program, run_python
from tests.unit.tensor.same_bits import assert_same_bits, bits

PRINT_THREADS = "import interlock; print(interlock.get_num_threads())"


pytestmark = pytest.mark.usefixtures("num_threads_restored")


def random(*shape: int) -> interlock.Tensor:
    """Return the same random float32 numbers for the same shape."""
    return interlock.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("wrong", [0, -1, 2**31, 2**70])
def test_set_num_threads_rejects_other_numbers(wrong: int) -> None:
    before = interlock.get_num_threads()
    with pytest.raises(ArgumentError, match=r"^set_num_threads: threads must be from 1 to 2\*\*31 - 1, got "):
        interlock.set_num_threads(wrong)
    assert interlock.get_num_threads() == before


@pytest.mark.parametrize(("wrong", "name"), [("2", "str"), (2.0, "float"), (None, "None"), (True, "bool")])
def test_set_num_threads_rejects_other_types(wrong: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"^set_num_threads: threads must be a positive int, got {name}$"):
        interlock.set_num_threads(wrong)


def test_number_of_threads_is_that_of_the_process() -> None:
    thread = threading.Thread(target=interlock.set_num_threads, args=(np.int64(5),))
    thread.start()
    thread.join()
    assert interlock.get_num_threads() == 5


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "5"}, 3),
        ({"OMP_NUM_THREADS": "many", "MKL_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
    ],
)
def test_number_of_threads_is_read_from_the_environment(variables: dict[str, str], expected: int) -> None:
    assert run_python(PRINT_THREADS, env=variables) == Result(0, f"{expected}\n", "")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity")
def test_default_number_of_threads_is_that_of_the_cpus_of_the_process() -> None:
    first = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    empty = {"OMP_NUM_THREADS": "", "MKL_NUM_THREADS": ""}
    assert run_python(first + PRINT_THREADS, env=empty) == Result(0, "1\n", "")


def test_products_have_equal_bits_for_every_number_of_threads() -> None:
    a, b = random(512, 300), random(300, 520)
    assert_same_bits(lambda: a @ b)
    assert_same_bits(lambda: b.t() @ a.t())
    assert_same_bits(lambda: random(6, 250, 251) @ random(251, 253))


def test_gradients_have_equal_bits_for_every_number_of_threads() -> None:
    a, b = random(512, 300).requires_grad_(), random(300, 520)
    assert_same_bits(lambda: interlock.autograd.grad((a @ b).sum(), a)[0])


def test_large_products_equal_numpys() -> None:
    interlock.set_num_threads(2)
    a, b = random(600, 500).double(), random(500, 400).double()
    np.testing.assert_allclose(np.asarray(a @ b), np.asarray(a) @ np.asarray(b), rtol=1e-10, atol=1e-10)


def test_number_of_threads_changes_while_products_run() -> None:
    a = random(512, 512)
    expected, stop = bits(lambda: a @ a, 1), threading.Event()

    def change() -> None:
        while not stop.is_set():
            for threads in (1, 2, 5):
                interlock.set_num_threads(threads)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert all(np.asarray(a @ a).tobytes() == expected for _ in range(20))
    finally:
        stop.set()
        thread.join()


def test_products_on_devices_have_the_bits_of_products_on_the_cpu(devices: list[str]) -> None:
    interlock.set_num_threads(2)
    a = random(512, 512)
    expected = np.asarray(a @ a).tobytes()
    on_device = a.to(devices[0])
    assert np.asarray((on_device @ on_device).cpu()).tobytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_product_works_in_a_child_forked_during_a_product_on_two_threads() -> None:
    # A child that hangs is killed by its alarm.
    assert eval_program("tensor.threads.fork_during_product_on_threads") == [0] * 10


@pytest.mark.skipif(sys.platform != "linux", reason="counts the entries of /proc/self/task")
def test_fork_ends_the_threads_that_wait_for_the_next_operation() -> None:
    done = run_program("tensor.threads.fork_after_operations_on_threads")
    assert done == Result(0, "(3, 1, 0)\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no masks of signals")
def test_threads_that_wait_for_the_next_operation_take_no_signal() -> None:
    assert run_program("tensor.threads.signal_after_operations_on_threads") == Result(0, "SIGTERM\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_product_runs_on_its_own_thread_if_no_thread_can_be_started() -> None:
    done = run_program("tensor.memory.product_without_room_for_a_thread")
    assert done == Result(0, "can't start new thread\n", "")


# At least as many elements as operations on several threads have.
SHAPES = [(1 << 20,), (1 << 10, 1 << 10), (3, 1 << 19), (1 << 19, 3), (64, 150, 128), (5, 1, 1 << 18)]
FEW_SHAPES = [*SHAPES[1:5:3], *(pytest.param(SHAPES[at], marks=pytest.mark.slow) for at in (0, 2, 3, 5))]


def layouts(x: interlock.Tensor) -> list[interlock.Tensor]:
    """Return a contiguous tensor, one with another order of dimensions and one with gaps."""
    wide = interlock.cat([x, x], 0)
    return [x, x.t() if x.ndim == 2 else x.unsqueeze(0).permute(*range(x.ndim, -1, -1)), wide[::2]]


@pytest.mark.slow
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_elementwise_operations_have_equal_bits_on_several_threads(shape: tuple[int, ...]) -> None:
    for x in layouts(random(*shape)):
        assert_same_bits(x.exp)
        assert_same_bits(lambda x=x: x * 2 + x)
        assert_same_bits(lambda x=x: x.double() - x[:1].double())
        assert_same_bits(lambda x=x: (x * 100).long())
        assert_same_bits(lambda x=x: (x * 1).mul_(x).add_(x[:1]))


@pytest.mark.parametrize("shape", FEW_SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_reductions_have_equal_bits_for_every_number_of_threads(shape: tuple[int, ...], dtype: str) -> None:
    x = (random(*shape) * 100).to(getattr(interlock, dtype))
    for dim in [None, *range(len(shape))]:
        assert_same_bits(lambda dim=dim: x.sum(dim))
    if dtype != "bool":
        assert_same_bits(x.max)
        assert_same_bits(lambda: x.amin(0))


@pytest.mark.slow
def test_softmax_and_argmax_have_equal_bits_for_every_number_of_threads() -> None:
    x = random(1 << 10, 1 << 10)
    for dim in (0, 1):
        assert_same_bits(lambda dim=dim: x.softmax(dim))
        assert_same_bits(lambda dim=dim: x.argmax(dim))


ALONG_A_DIMENSION: dict[str, Callable[[interlock.Tensor, int], interlock.Tensor]] = {
    "cumsum": lambda x, dim: x.cumsum(dim),
    "cumprod": lambda x, dim: x.cumprod(dim),
    "prod": lambda x, dim: x.prod(dim),
    "var": lambda x, dim: x.var(dim),
    "norm": lambda x, dim: x.norm(dim=dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "argsort": lambda x, dim: x.argsort(dim),
    "topk": lambda x, dim: x.topk(5, dim).values,
    "max": lambda x, dim: x.max(dim).values,
    "any": lambda x, dim: x.any(dim),
}


@pytest.mark.product
@pytest.mark.parametrize("name", ALONG_A_DIMENSION)
@pytest.mark.parametrize("dim", [0, 1])
def test_operations_along_a_dimension_have_equal_bits_for_all_threads(name: str, dim: int) -> None:
    x = random(1 << 10, 1 << 10)
    assert_same_bits(lambda: ALONG_A_DIMENSION[name](x, dim))


def test_statistics_of_all_elements_have_equal_bits_for_all_threads() -> None:
    x = random(1 << 10, 1 << 10)
    assert_same_bits(x.prod)
    assert_same_bits(x.std)


@pytest.mark.slow
def test_large_elementwise_operations_and_reductions_equal_numpys() -> None:
    interlock.set_num_threads(2)
    for shape in SHAPES:
        x = random(*shape).double()
        numbers = np.asarray(x)
        np.testing.assert_array_equal(np.asarray(x * x - x[:1]), numbers * numbers - numbers[:1])
        for dim in [None, *range(len(shape))]:
            np.testing.assert_allclose(np.asarray(x.sum(dim)), numbers.sum(dim), rtol=1e-10, atol=1e-8)
            np.testing.assert_array_equal(np.asarray(x.amax(() if dim is None else dim)), numbers.max(dim))
