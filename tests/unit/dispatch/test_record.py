"""`dispatch.record` and `dispatch.explain`: the kernel of a call, and the reasons against the others."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Callable, Iterable
from typing import Any

import interlock
import pytest
from interlock import aio, backends, dispatch, errors
from interlock.nn import functional

from tests.helpers.subprocess import eval_program, run_program


def product(size: int = 2) -> interlock.Tensor:
    x = interlock.ones(size, size)
    return x @ x


def sizes(calls: Iterable[dispatch.Call]) -> list[str]:
    """Return the sizes of the left matrices of the recorded products."""
    return [call.arguments.split()[2].partition("x")[0] for call in calls]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_calls_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    with backends.override({"mkldnn.enabled": False}), dispatch.record() as recording:
        product()
        interlock.einsum("ij,jk,kl->il", *[interlock.ones(2, 2)] * 3)
    calls = copied(list(recording))
    assert calls == list(recording) == recording[:]
    for call, original in zip(calls, recording, strict=True):
        names = ("operation", "arguments", "kernel", "is_model", "inputs", "sums", "composite", "notes")
        assert all(getattr(call, name) == getattr(original, name) for name in names)
        assert (str(call), repr(call)) == (str(original), repr(original))
        for one, other in zip(call.considered, original.considered, strict=True):
            assert (one.kernel, one.outcome, str(one)) == (other.kernel, other.outcome, str(other))
            assert copied(one) == one == other
            if other.reason is None:
                assert one.reason is None
                continue
            assert copied(one.reason) == one.reason == other.reason
            assert (one.reason.flag, one.reason.library) == (other.reason.flag, other.reason.library)
    flags = {one.reason.flag for one in calls[0].considered if one.reason is not None}
    assert "mkldnn.enabled" in flags


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_recording_cannot_be_copied_or_pickled(copied: Callable[[Any], Any]) -> None:
    with pytest.raises(
        TypeError, match=r"a Recording cannot be pickled or copied; list\(recording\) returns"
    ):
        copied(dispatch.record())


def test_record_lists_the_calls_of_its_block() -> None:
    product(1)
    with dispatch.record() as calls:
        assert len(calls) == 0
        product(2)
        assert sizes(calls) == ["2"]
        product(3)
    product(4)
    assert sizes(calls) == sizes(calls[:]) == sizes(list(calls)) == ["2", "3"]
    assert calls[-1] == calls[1] != calls[0]
    with pytest.raises(IndexError):
        calls[2]


def test_call_names_its_arguments_and_every_kernel() -> None:
    with dispatch.record() as calls:
        interlock.ones(2, 3) @ interlock.ones(3, 4)
    (call,) = calls
    assert (call.operation, call.arguments) == ("matmul", "cpu float32 2x3 @ 3x4")
    assert (call.kernel, call.is_model, call.inputs, call.composite) == ("native", False, "float32", None)
    assert [(one.kernel, one.outcome) for one in call.considered] == [
        ("cublas", "refused"),
        ("cublaslt", "refused"),
        ("mkldnn", "refused"),
        ("onednn", "refused"),
        ("mkl", "refused"),
        ("native", "chosen"),
    ]
    reasons = [one.reason for one in call.considered]
    assert [reason and (str(reason), reason.flag, reason.library) for reason in reasons] == [
        ("needs a device, got cpu", None, None),
        ("needs a device, got cpu", None, None),
        ("backends.mkldnn.numerics is 'hardware', not 'model'", "mkldnn.numerics", None),
        ("needs at least 524288 multiplications, got 24", None, None),
        ("needs at least 524288 multiplications, got 24", None, None),
        None,
    ]
    line = "matmul cpu float32 2x3 @ 3x4 -> native | cublas: needs a device, got cpu | cublaslt: needs"
    assert str(call).startswith(line)
    assert repr(call) == f"<interlock.dispatch.Call: {call}>"
    assert repr(call.considered[5]) == "<interlock.dispatch.Considered: native: chosen>"
    assert repr(reasons[0]) == "<interlock.dispatch.Reason: needs a device, got cpu>"
    assert repr(calls) == f"<interlock.dispatch.Recording of 1 calls>\n  {call}"


def test_record_of_a_call_in_a_composite_names_the_composite() -> None:
    x = interlock.ones(2, 2)
    with dispatch.record() as calls:
        functional.linear(x, x)
        interlock.addmm(x, x, x)
        interlock.mm(x, x)
    assert [call.composite for call in calls] == ["linear", "addmm", None]


def test_inner_recording_replaces_the_outer_one() -> None:
    with dispatch.record() as outer:
        product(1)
        with dispatch.record() as inner:
            product(2)
        product(3)
    assert (sizes(outer), sizes(inner)) == (["1", "3"], ["2"])


def test_recording_may_be_entered_again() -> None:
    calls = dispatch.record()
    for size in (1, 2):
        with calls:
            product(size)
    product(3)
    assert sizes(calls) == ["1", "2"]


def test_recording_ends_with_an_exception() -> None:
    calls = dispatch.record()
    with pytest.raises(ZeroDivisionError), calls:
        1 / 0  # noqa: B018
    product()
    assert len(calls) == 0


def test_recording_applies_to_its_thread_and_to_captured_states() -> None:
    def run(target: Callable[[], object]) -> None:
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()

    with dispatch.record() as calls:
        state = interlock.capture()
        run(lambda: product(1))
        run(lambda: state.run(product, 2))
        product(3)
    run(lambda: state.run(product, 4))
    assert sizes(calls) == ["2", "3", "4"], "a captured state records as long as it is applied"


def test_recording_of_a_task_is_its_own() -> None:
    async def recorded(size: int) -> list[str]:
        with dispatch.record() as calls:
            product(size)
            await asyncio.sleep(0)
            product(size)
        return sizes(calls)

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(recorded(2), recorded(3)))

    assert aio.run(main()) == [["2", "2"], ["3", "3"]]


def test_backward_is_recorded_where_it_runs() -> None:
    x = interlock.ones(2, 2, requires_grad=True)
    y = (x @ x).sum()
    with dispatch.record() as calls:
        y.backward()
    assert [call.operation for call in calls] == ["matmul", "matmul"]


def test_explain_returns_the_choice_without_a_call() -> None:
    x, y = interlock.ones(2, 3), interlock.ones(3)
    with dispatch.record() as calls:
        explained = dispatch.explain("matmul", x, y)
    assert len(calls) == 0
    assert (explained.kernel, explained.arguments) == ("native", "cpu float32 2x3 @ 3x1")
    with backends.override({"mkldnn.numerics": "model", "mkldnn.fp32_precision": "bf16"}):
        explained = dispatch.explain("matmul", x, y)
    assert (explained.kernel, explained.is_model, explained.inputs) == ("mkldnn", True, "bf16")


def test_explain_binds_the_arguments_of_einsum() -> None:
    x = interlock.ones(2, 3)
    for arguments in (("ij,kj->ik", x, x), ("ij,kj->ik", [x, x]), (x, [0, 1], x, [2, 1], [0, 2])):
        explained = dispatch.explain("einsum", *arguments)  # type: ignore[call-overload]
        assert (explained.operation, explained.kernel) == ("einsum", "left_to_right")
    assert str(explained.considered[0]) == "opt_einsum: needs more than 2 operands, got 2"
    with pytest.raises(errors.DTypeError, match="einsum: dtypes must match, got float32 and float64"):
        dispatch.explain("einsum", "ij,ij->", x, x.double())
    with pytest.raises(TypeError, match="einsum: each operand must be a Tensor"):
        dispatch.explain("einsum", "ij->", 3)  # type: ignore[call-overload]


def test_record_names_the_arithmetic_of_the_dtype() -> None:
    for dtype, arithmetic in [
        (interlock.float32, ("float32", None)),
        (interlock.float64, (None, None)),
        (interlock.int64, (None, None)),
        (interlock.float16, (None, "float32")),
        (interlock.bfloat16, (None, "float32")),
    ]:
        x = interlock.ones(2, 2, dtype=dtype)
        with dispatch.record() as calls:
            x @ x
        assert (calls[0].inputs, calls[0].sums) == arithmetic, dtype


def test_explain_refuses_other_operations_and_operands() -> None:
    x = interlock.ones(2, 3)
    with pytest.raises(errors.ArgumentError, match='got "matmull"; did you mean "matmul"'):
        dispatch.explain("matmull", x, x)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"^explain: matmul\(\) missing 1 required positional argument: 'other'$"
    ):
        dispatch.explain("matmul", x)
    with pytest.raises(TypeError, match=r"^explain: matmul: other must be a Tensor, got int$"):
        dispatch.explain("matmul", x, 3)  # type: ignore[arg-type]
    with pytest.raises(errors.ShapeError, match=r"^explain: matmul: inner dimensions differ"):
        dispatch.explain("matmul", x, x)


def test_environment_variable_prints_a_line_for_each_call() -> None:
    done = run_program("dispatch.two_products", env={"INTERLOCK_DISPATCH": "1"})
    lines = done.stderr.splitlines()
    assert [line.partition(" | ")[0] for line in lines] == [
        "interlock: matmul cpu float32 2x3 @ 3x2 -> native",
        "interlock: matmul host:0 float32 2x3 @ 3x2 -> cublas (model)",
    ]
    assert run_program("dispatch.two_products").stderr == ""


def test_misspelt_value_of_the_environment_variable_is_reported() -> None:
    done = run_program("dispatch.two_products", env={"INTERLOCK_DISPATCH": "yes"})
    assert "INTERLOCK_DISPATCH" in done.stderr
    assert "0, 1, false or true" in done.stderr


def test_recording_survives_a_fork() -> None:
    assert eval_program("dispatch.recording_and_a_fork") == {"parent": ["1", "3"], "child": ["1", "2"]}


def test_empty_names_the_flag_that_fills_it() -> None:
    assert str(dispatch.explain("empty", 2, 3, dtype=interlock.int64)) == (
        "empty cpu int64 2x3 -> uninitialized | filled: backends.deterministic_algorithms is False"
    )
    with backends.override({"deterministic_algorithms": True}), dispatch.record() as calls:
        assert dispatch.explain("empty", (2,)).kernel == "filled"
        interlock.empty(2)
    assert calls[-1].notes == ("backends.deterministic_algorithms is True",)
