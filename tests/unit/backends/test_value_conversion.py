"""The conversion of values, and the errors for wrong ones."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import backends, errors
from interlock.backends import cuda, cudnn, nnpack, opt_einsum

from tests.helpers.subprocess import run_program, run_python


def test_numbers_and_bools_of_numpy_are_accepted(restored: None) -> None:
    cudnn.benchmark_limit = np.int64(5)  # type: ignore[assignment]
    assert cudnn.benchmark_limit == 5
    cudnn.benchmark = np.True_  # type: ignore[assignment]
    assert cudnn.benchmark is True
    with pytest.raises(errors.FlagTypeError, match=r"benchmark_limit must be an int.*, got True"):
        cudnn.benchmark_limit = np.True_  # type: ignore[assignment]
    with pytest.raises(errors.FlagTypeError):
        cuda.cublas_workspace_size(cuda.SDPBackend.MATH)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [np.float32(0.25), np.float16(0.25), Fraction(1, 4)])
def test_real_numbers_are_accepted_by_flags_of_floats(given: Any) -> None:
    flag = backends.register("value_conversion.rate", 1.0, doc="x")
    flag.value = given
    assert flag.value == 0.25
    for wrong in (Fraction(10**400), Decimal(1), np.zeros(1), interlock.zeros(1), 1j):
        with pytest.raises(errors.FlagTypeError, match=r"value_conversion\.rate must be a float.*, got "):
            flag.value = wrong  # type: ignore[assignment]
    assert flag.value == 0.25
    backends.unregister(flag)


@pytest.mark.parametrize("wrong", [[], "", False, "cudnn.enabled"])
def test_override_accepts_a_dict(wrong: Any) -> None:
    with pytest.raises(errors.FlagTypeError, match=r"override: flags must be a dict"):
        backends.override(wrong)


def test_flag_name_must_be_a_str() -> None:
    nameless: Any = {None: True}
    with pytest.raises(errors.FlagTypeError, match=r"^override: the name of a flag must be a str, got None$"):
        backends.override(nameless)
    wrong: Any = {1: True}
    with pytest.raises(errors.FlagTypeError, match=r"^override: the name of a flag must be a str, got 1$"):
        backends.override(wrong)
    with pytest.raises(errors.FlagTypeError, match=r"^explain: name must be a str, got {1: True} \(dict\)$"):
        backends.explain(wrong)


def test_message_truncates_long_values() -> None:
    for call in (
        lambda: backends.explain("a" * 10**6),
        lambda: setattr(backends, "fp32_precision", "x" * 10**6),
        lambda: setattr(cuda, "sdp_priority", ["x" * 100] * 10_000),
    ):
        with pytest.raises(errors.InterlockError) as caught:
            call()
        assert len(str(caught.value)) < 2_000


def test_nnpack_refuses_none() -> None:
    with pytest.raises(errors.FlagTypeError, match=r"nnpack\.enabled must be a bool, got None"):
        nnpack.set_flags(None)  # type: ignore[arg-type]


def test_blocked_package_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    assert not opt_einsum.is_available()
    assert opt_einsum.get_opt_einsum() is None


def test_flags_leaves_precision_unset_with_environment_variables() -> None:
    done = run_program(
        "backends.flags.flags_leaves_precision_unset_with_environment_variables",
        env={"INTERLOCK_CUDNN_ALLOW_TF32": "0"},
    )
    assert done.code == 0, done.stderr


@pytest.mark.parametrize(("text", "precision"), [("0", "none"), ("1", "tf32")])
def test_tf32_override_variable_enables_it_or_has_no_effect(text: str, precision: str) -> None:
    done = run_python(
        "from interlock import backends; print(backends.cuda.matmul.fp32_precision)",
        env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": text},
    )
    assert (done.code, done.stdout) == (0, f"{precision}\n"), done.stderr


def test_explain_has_no_override_if_the_value_is_false_already() -> None:
    done = run_python(
        """
        from interlock import backends
        assert backends.explain("cudnn.allow_tf32").overridden_by == "NVIDIA_TF32_OVERRIDE"
        backends.cudnn.conv.fp32_precision = "ieee"
        assert backends.explain("cudnn.allow_tf32").overridden_by is None
        """,
        env={"NVIDIA_TF32_OVERRIDE": "0"},
    )
    assert done.code == 0, done.stderr


def test_install_of_equal_values_writes_nothing_also_through_json(restored: None) -> None:
    import json

    cuda.matmul.allow_fp16_reduced_precision_reduction = (False, True)
    taken = backends.Snapshot(json.loads(json.dumps(backends.snapshot())))
    with backends.frozen():
        taken.install()
    with pytest.raises(errors.FlagTypeError):
        backends.Snapshot([("cudnn.benchmark", 1, "process")]).install()  # type: ignore[list-item]
