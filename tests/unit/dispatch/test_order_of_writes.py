"""The kernels of writes at the positions of an index: with a fixed order, and without."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import interlock
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from interlock import Tensor, backends, dispatch
from interlock.errors import DTypeError, ShapeError
from interlock.utils import deterministic

from tests.unit.tensor.same_bits import assert_same_bits

DETERMINISTIC: backends.Flags = {"deterministic_algorithms": True}
WARN_ONLY: backends.Flags = {
    "deterministic_algorithms": True,
    "deterministic_algorithms_warn_only": True,
}
ADDITIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "index_add": lambda x, index, values: x.index_add(0, index, values),
    "index_put": lambda x, index, values: x.index_put((index,), values, accumulate=True),
    "put": lambda x, index, values: x.put(index, values, accumulate=True),
    "scatter_add": lambda x, index, values: x.scatter_add(0, index, values),
}
"""Additions to a tensor with one dimension."""

BACKWARD: dict[str, tuple[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "index": ("index_put", lambda x, index: x[index]),
    "index_select": ("index_add", lambda x, index: x.index_select(0, index)),
    "gather": ("scatter_add", lambda x, index: x.gather(0, index)),
    "take": ("put", lambda x, index: x.take(index)),
    "embedding": (
        "index_add",
        lambda x, index: interlock.nn.functional.embedding(index, x.unsqueeze(1)),
    ),
}
"""For each read: the operation that computes its gradient."""


@pytest.fixture
def num_threads_restored() -> object:
    before = interlock.get_num_threads()
    yield
    interlock.set_num_threads(before)


def kernels_of(function: Callable[[], object]) -> list[tuple[str, str | None]]:
    """Return the operations of a call, each with its kernel."""
    with dispatch.record() as calls:
        function()
    return [(call.operation, call.kernel) for call in calls]


@pytest.mark.parametrize("name", ADDITIONS)
def test_flag_chooses_the_kernel_of_an_addition(name: str) -> None:
    x, index = interlock.zeros(3), interlock.tensor([1, 1])

    def add() -> Tensor:
        return ADDITIONS[name](x, index, interlock.ones(2))

    assert kernels_of(add) == [(name, "atomic")]
    with backends.override(DETERMINISTIC):
        assert kernels_of(add) == [(name, "ordered")]
    with backends.override(WARN_ONLY):
        assert kernels_of(add) == [(name, "ordered")]
    with dispatch.record() as calls:
        ADDITIONS[name](x.long(), index, interlock.ones(2).long())
    assert calls[0].kernel == "ordered", "sums of integers do not depend on their order"
    assert calls[0].considered[0].reason is not None
    assert str(calls[0].considered[0].reason) == "needs a float dtype, got int64"
    assert str(calls[0]).startswith(f"{name} cpu int64 3 += 2 -> ordered | atomic: needs a float")


def test_explain_returns_the_choice_of_a_write_without_reading_positions() -> None:
    x, values, beyond = interlock.zeros(3), interlock.ones(2), interlock.tensor([1, 9])

    def choices() -> dict[str, str | None]:
        explained = [
            dispatch.explain("index_add", x, 0, beyond, values, alpha=2),
            dispatch.explain("index_put", x, (beyond,), values, accumulate=True),
            dispatch.explain("put", x, beyond, values, True),
            dispatch.explain("scatter_add", x, 0, beyond, values),
        ]
        return {call.operation: call.kernel for call in explained}

    assert choices() == dict.fromkeys(ADDITIONS, "atomic")
    assert str(dispatch.explain("put", x, beyond, values)).startswith("put cpu float32 3 = 2 -> unordered")
    with backends.override(DETERMINISTIC):
        assert choices() == dict.fromkeys(ADDITIONS, "ordered")
        assert dispatch.explain("put", x, beyond, values).kernel is None
    assert x.tolist() == [0.0] * 3


@pytest.mark.parametrize("name", ADDITIONS)
def test_explain_of_a_write_is_the_record_of_the_call(name: str) -> None:
    x, index, values = interlock.zeros(3), interlock.tensor([1, 1]), interlock.ones(2)
    with dispatch.record() as calls:
        ADDITIONS[name](x, index, values)
    explained = {
        "index_add": lambda: dispatch.explain("index_add", x, 0, index, values),
        "index_put": lambda: dispatch.explain("index_put", x, (index,), values, accumulate=True),
        "put": lambda: dispatch.explain("put", x, index, values, accumulate=True),
        "scatter_add": lambda: dispatch.explain("scatter_add", x, 0, index, values),
    }[name]()
    assert str(explained) == str(calls[0])


def test_explain_refuses_writes_whose_shapes_do_not_fit() -> None:
    x, index, three = interlock.zeros(3), interlock.tensor([1, 1]), interlock.ones(3)
    with pytest.raises(ShapeError, match=r"^explain: index_add: source must be of shape \(2,\)"):
        dispatch.explain("index_add", x, 0, index, three)
    with pytest.raises(ShapeError, match=r"^explain: index_put"):
        dispatch.explain("index_put", x, (index,), three)
    with pytest.raises(IndexError, match=r"^explain: put: source must have as many elements"):
        dispatch.explain("put", x, index, three)
    with pytest.raises(ShapeError, match=r"^explain: scatter_add: src must be at least as large"):
        dispatch.explain("scatter_add", x, 0, index, interlock.ones(1))
    with pytest.raises(DTypeError, match=r"^explain: scatter_add"):
        dispatch.explain("scatter_add", x, 0, index, three.long())
    with pytest.raises(TypeError, match=r"^explain: index_add: source must be a Tensor, got int"):
        dispatch.explain("index_add", x, 0, index, 1)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", BACKWARD)
def test_gradient_of_a_read_obeys_the_flags_of_the_backward_pass(name: str) -> None:
    operation, read = BACKWARD[name]
    x = interlock.ones(3, requires_grad=True)
    result = read(x, interlock.tensor([1, 1])).sum()
    with backends.override(DETERMINISTIC):
        assert kernels_of(lambda: result.backward(retain_graph=True)) == [(operation, "ordered")]
    assert kernels_of(result.backward) == [(operation, "atomic")]
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 4.0, 0.0]


@pytest.mark.usefixtures("host_accessible_memory")
def test_devices_choose_the_same_kernels(devices: tuple[str, ...]) -> None:
    with interlock.device(devices[0]):
        x, index, ones = interlock.zeros(3), interlock.tensor([1, 1]), interlock.ones(2)
    for flags, kernel in (({}, "atomic"), (DETERMINISTIC, "ordered")):
        with backends.override(flags):
            results = kernels_of(lambda: ADDITIONS["index_add"](x, index, ones))
        assert results == [("index_add", kernel)]


def test_put_without_accumulate_has_no_fixed_order() -> None:
    x, index, values = interlock.zeros(3), interlock.tensor([0, 2]), interlock.ones(2)
    assert kernels_of(lambda: x.put(index, values)) == [("put", "unordered")]
    with backends.override(DETERMINISTIC):
        with pytest.raises(RuntimeError, match=r"^put_: .*algorithms is True.*warn_only=True\)$"):
            x.put_(index, values)
        assert (x.tolist(), x._version) == ([0.0, 0.0, 0.0], 0)
        x.index_put_((index,), values)
    assert x.tolist() == [1.0, 0.0, 1.0]


def test_put_warns_if_the_flag_only_warns() -> None:
    x, index, values = interlock.zeros(3), interlock.tensor([0, 2]), interlock.ones(2)
    with (
        backends.override(WARN_ONLY),
        pytest.warns(UserWarning, match=r"^put_: no kernel has a fixed order") as caught,
        dispatch.record() as calls,
    ):
        x.put_(index, values)
    assert (len(caught), calls[0].kernel) == (1, "unordered_with_warning")
    assert x.tolist() == [1.0, 0.0, 1.0]
    with backends.override(WARN_ONLY), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"^put: no kernel"):
            x.put(index, values)
        x.put(index, values, accumulate=True)


@pytest.mark.usefixtures("num_threads_restored")
@pytest.mark.parametrize("name", ADDITIONS)
def test_ordered_addition_has_equal_bits_for_every_number_of_threads(name: str) -> None:
    random = np.random.default_rng(0)
    index = interlock.from_numpy(random.integers(0, 1000, 300_000))
    values = interlock.from_numpy(random.normal(size=300_000).astype(np.float32))

    def add() -> Tensor:
        return ADDITIONS[name](interlock.zeros(1000), index, values)

    with backends.override(DETERMINISTIC):
        assert_same_bits(add)
        ordered = add().numpy()
    exact = np.zeros(1000)
    np.add.at(exact, index.numpy(), values.double().numpy())
    for threads in (1, 2, 5):
        interlock.set_num_threads(threads)
        np.testing.assert_allclose(add().numpy(), exact, rtol=0, atol=1e-3)
    np.testing.assert_allclose(ordered, exact, rtol=0, atol=1e-3)


@pytest.mark.usefixtures("num_threads_restored")
def test_assignment_on_several_threads_writes_every_value() -> None:
    interlock.set_num_threads(3)
    order = np.random.default_rng(0).permutation(300_000)
    for dtype in (interlock.float32, interlock.float16, interlock.int64, interlock.bool):
        values = interlock.from_numpy(order).to(dtype)
        result = interlock.zeros(300_000, dtype=dtype).put(interlock.from_numpy(order), values)
        assert np.array_equal(result.numpy(), interlock.arange(300_000).to(dtype).numpy())


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(ADDITIONS)),
    st.lists(st.tuples(st.integers(0, 4), st.floats(-100, 100, width=32)), max_size=40),
    st.sampled_from([interlock.float32, interlock.float64]),
)
def test_unordered_additions_equal_ordered_ones_within_rounding(
    name: str, pairs: list[tuple[int, float]], dtype: interlock.dtype
) -> None:
    index = interlock.tensor([position for position, _ in pairs], dtype=interlock.int64)
    values = interlock.tensor([value for _, value in pairs], dtype=dtype)
    start = interlock.arange(5).to(dtype)
    unordered = ADDITIONS[name](start, index, values)
    with backends.override(DETERMINISTIC):
        ordered = ADDITIONS[name](start, index, values)
    np.testing.assert_allclose(unordered.numpy(), ordered.numpy(), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize(
    ("dtype", "filled"),
    [
        (interlock.float32, "nan"),
        (interlock.float64, "nan"),
        (interlock.float16, "nan"),
        (interlock.bfloat16, "nan"),
        (interlock.int64, str(2**63 - 1)),
        (interlock.bool, "True"),
    ],
    ids=str,
)
def test_uninitialized_tensors_are_filled_as_the_flags_request(dtype: interlock.dtype, filled: str) -> None:
    def kernel() -> str | None:
        with dispatch.record() as calls:
            interlock.empty(2, dtype=dtype)
        return calls[0].kernel

    assert kernel() == "uninitialized"
    with backends.override(DETERMINISTIC):
        assert str(interlock.empty(2, dtype=dtype).tolist()) == f"[{filled}, {filled}]"
        like = interlock.empty_like(interlock.zeros(2, 3, dtype=dtype).T)
        assert str(like.tolist()) == str([[filled] * 2] * 3).replace("'", "")
        assert like.stride() == (1, 3)
        strided = interlock.empty_strided((2,), (2,), dtype=dtype)
        assert (str(strided.tolist()), strided.stride()) == (f"[{filled}, {filled}]", (2,))
        with backends.override({"deterministic_fill_uninitialized_memory": False}):
            assert kernel() == "uninitialized"
        assert kernel() == "filled"


@pytest.mark.usefixtures("host_accessible_memory")
def test_uninitialized_tensors_of_devices_are_filled(devices: tuple[str, ...]) -> None:
    with backends.override(DETERMINISTIC):
        assert str(interlock.empty(2, device=devices[0]).tolist()) == "[nan, nan]"


def test_fill_uninitialized_memory_is_the_flag() -> None:
    assert deterministic.fill_uninitialized_memory is True
    with backends.override({"deterministic_fill_uninitialized_memory": False}):
        assert deterministic.fill_uninitialized_memory is False
    before = backends.snapshot()
    try:
        deterministic.fill_uninitialized_memory = False
        assert backends.deterministic_fill_uninitialized_memory is False
    finally:
        backends.restore(before)
    with pytest.raises(TypeError):
        deterministic.fill_uninitialized_memory = 1
