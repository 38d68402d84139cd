"""Detection of anomalies: failing nodes name the line of their forward operation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import Function, detect_anomaly, set_detect_anomaly


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def invalid(x: Tensor) -> Tensor:
    return x.log()  # the failing forward line


@contextmanager
def reported() -> Iterator[None]:
    """Expect the warning with the stack of `invalid`."""
    with pytest.warns(
        UserWarning, match=r"LogBackward0 failed(.|\n)*in invalid\n(.|\n)*the failing forward line"
    ):
        yield


def modes() -> tuple[bool, bool]:
    return interlock.is_anomaly_enabled(), interlock.is_anomaly_check_nan_enabled()


def test_detect_anomaly_names_the_forward_line_of_a_nan() -> None:
    x = leaf(0)
    line = invalid.__code__.co_firstlineno + 1
    with detect_anomaly():
        y = invalid(x) * 0
        with reported(), pytest.raises(RuntimeError, match=f"NaN elements.*test_anomaly.py:{line}"):
            y.backward()
    assert x.grad is None


def test_anomaly_mode_reports_other_errors_of_backward_functions() -> None:
    with detect_anomaly(check_nan=False):
        x = leaf(1) * 1
        y = invalid(x)
        x.add_(1)
        with reported(), pytest.raises(RuntimeError, match=r"was changed in place.*test_anomaly.py"):
            y.backward()


def test_exception_of_a_function_stays_the_same_in_anomaly_mode() -> None:
    class Failing(interlock.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> Tensor:
            raise LookupError("of the function")

    with detect_anomaly():
        y = Failing.apply(leaf(1))
        with (
            pytest.warns(UserWarning, match="FailingBackward failed"),
            pytest.raises(LookupError, match="of the function"),
        ):
            y.backward()


def test_nan_is_no_error_without_the_check() -> None:
    x = leaf(0)
    (invalid(x) * 0).backward()
    with detect_anomaly(check_nan=False):
        (invalid(x) * 0).backward()
    assert x.grad is not None
    assert x.grad.isnan().item()


def test_node_of_a_forward_without_anomaly_mode_has_no_line() -> None:
    y = invalid(leaf(0)) * 0
    with (
        detect_anomaly(),
        pytest.warns(UserWarning, match="ran without anomaly detection"),
        pytest.raises(RuntimeError, match="its line is not known"),
    ):
        y.backward()


def test_failing_node_of_a_second_derivative_names_its_creator() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad * (invalid(x) * 0)

    with detect_anomaly():
        x = leaf(0)
        y = Cube.apply(x)  # the forward line of the program
        with detect_anomaly(check_nan=False):
            (first,) = interlock.autograd.grad(y, x, create_graph=True)
        with (
            pytest.warns(UserWarning, match="failed") as caught,
            pytest.raises(RuntimeError, match="NaN elements"),
        ):
            first.backward()
    (text,) = [str(warning.message) for warning in caught if "failed" in str(warning.message)]
    failing, _, creator = text.partition("It was created by the backward function of CubeBackward; ")
    assert "the failing forward line" in failing
    assert "the forward line of the program" in creator


def test_warning_that_raises_has_the_error_as_cause() -> None:
    import warnings

    with detect_anomaly(), warnings.catch_warnings():
        warnings.simplefilter("error")
        y = invalid(leaf(0)) * 0
        with pytest.raises(UserWarning) as caught:
            y.backward()
    assert "NaN elements" in str(caught.value.__cause__)


def test_metadata_has_the_stack_of_a_node() -> None:
    with detect_anomaly():
        node = invalid(leaf(1)).grad_fn
    assert node is not None
    assert "the failing forward line" in node.metadata["traceback_"][-1]


def test_scopes_restore_the_mode() -> None:
    assert modes() == (False, True)
    with detect_anomaly(check_nan=False):
        assert modes() == (True, False)
        with detect_anomaly():
            assert modes() == (True, True)
        with set_detect_anomaly(False):
            assert modes() == (False, True)
        assert modes() == (True, False)
        with interlock.inference_mode():
            assert modes() == (True, False)
    assert modes() == (False, True)
    same = detect_anomaly()
    with same, same:
        assert modes() == (True, True)
    assert modes() == (False, True)


def test_set_detect_anomaly_is_a_function_too() -> None:
    previous = set_detect_anomaly(True, check_nan=False)
    assert (modes(), previous.prev, previous.prev_check_nan) == ((True, False), False, True)
    set_detect_anomaly(False)
    assert modes() == (False, True)


def test_anomaly_mode_is_part_of_the_state_of_a_thread() -> None:
    seen: list[tuple[bool, bool]] = []
    with detect_anomaly(check_nan=False):
        state = interlock.capture()
        other = threading.Thread(target=lambda: seen.append(modes()))
        other.start()
        other.join()
    assert seen == [(False, True)]
    assert state.run(modes) == (True, False)


def test_arguments_must_be_bools() -> None:
    with pytest.raises(TypeError, match="detect_anomaly: check_nan must be a bool, got int"):
        detect_anomaly(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="set_detect_anomaly: mode must be a bool, got str"):
        set_detect_anomaly("yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="set_detect_anomaly: check_nan must be a bool, got None"):
        set_detect_anomaly(True, None)  # type: ignore[arg-type]
    assert modes() == (False, True)


def test_text_of_a_scope_has_its_arguments() -> None:
    assert repr(interlock.autograd.detect_anomaly(check_nan=False)) == "detect_anomaly(check_nan=False)"
    scope = interlock.autograd.set_detect_anomaly(False)
    assert repr(scope) == "set_detect_anomaly(mode=False, check_nan=True)"
