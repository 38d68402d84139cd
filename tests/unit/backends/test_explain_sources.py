"""The source of a flag and its effective value (docs/pytorch_issues.md)."""

from __future__ import annotations

from typing import Any

import pytest
from interlock import backends

from tests.helpers.subprocess import eval_program, eval_python
from tests.unit.backends.flag_specs import BY_NAME, FLAGS

pytestmark = pytest.mark.usefixtures("restored")


# PyTorch: the values of variables can't be distinguished from assigned values.

VENDORS: dict[str, tuple[str, str, object]] = {
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": ("1", "cuda.matmul.allow_tf32", True),
    "TORCH_LINALG_PREFER_CUSOLVER": ("1", "cuda.linalg_library", "cusolver"),
    "TORCH_BLAS_PREFER_CUBLASLT": ("1", "cuda.blas_library", "cublaslt"),
    "TORCH_ROCM_FA_PREFER_CK": ("1", "cuda.rocm_fa_library", "ck"),
    "CUBLAS_WORKSPACE_CONFIG": (":4096:2:16:8", "cuda.cublas_workspace", 8_519_680),
    "CUBLASLT_WORKSPACE_SIZE": ("2048", "cuda.cublaslt_workspace", 2_097_152),
}
EXPLAIN = """
    from interlock import backends
    result = [list(backends.explain(name)[1:6]) for name in {names!r}]
"""


def explained(names: list[str], variables: dict[str, str]) -> list[Any]:
    """Return value, level, source, effective value and override in a process with these variables."""
    answer: list[Any] = eval_python(EXPLAIN.format(names=names), env=variables)
    return answer


@pytest.mark.parametrize("variable", VENDORS)
def test_explain_names_a_variable_of_pytorch_or_a_vendor(variable: str) -> None:
    text, name, value = VENDORS[variable]
    flag = BY_NAME[name]
    assert explained([name], {variable: text}) == [[value, "environment", variable, value, None]]
    own = {variable: text, flag.variable: "0" if isinstance(value, bool) else str(flag.default)}
    default = flag.default
    assert explained([name], own) == [[default, "environment", flag.variable, default, None]]


def test_explain_names_the_variable_that_forbids_tf32_as_override() -> None:
    names = [flag.name for flag in FLAGS if "32" in flag.name and not flag.name.startswith("mkldnn")]
    ours = {"INTERLOCK_FP32_PRECISION": "tf32"}
    own = dict(zip(names, explained(names, ours), strict=True))
    overruled = dict(zip(names, explained(names, {**ours, "NVIDIA_TF32_OVERRIDE": "0"}), strict=True))
    for name in names:
        value = BY_NAME[name].get() if name == "fp32_precision" else own[name][0]
        assert own[name][3:] == [own[name][0], None]
        assert overruled[name][:3] == own[name][:3], "its own value is unchanged"
        if name == "fp32_precision":
            assert overruled[name][3:] == ["tf32", None], "the generic node does not affect NVIDIA only"
        else:
            assert value in ("tf32", True)
            assert overruled[name][3:] == ["ieee" if value == "tf32" else False, "NVIDIA_TF32_OVERRIDE"]
    assert explained(["cuda.matmul.fp32_precision"], {"NVIDIA_TF32_OVERRIDE": "1"})[0][3:] == ["none", None]


# PyTorch: libraries set flags when they are imported, and one flag overrides another silently.


def test_explain_names_the_module_that_set_a_flag_at_import() -> None:
    lines = eval_program("backends.flags.import_a_module_that_sets_flags", env={"INTERLOCK_DEBUG": "1"})
    assert [line.rpartition("/")[2] for line in lines] == [f"careless.py:{line}" for line in (3, 4, 5, 5)]


@pytest.mark.parametrize("by", ["cudnn.deterministic", "deterministic_algorithms"])
def test_explain_names_the_override_and_keeps_the_own_value(by: str) -> None:
    """There is no warning: `explain` reports the override."""
    backends.cudnn.benchmark = True
    assert backends.explain("cudnn.benchmark")[4:6] == (True, None)
    with backends.override(**{by: True}):
        assert backends.explain("cudnn.benchmark")[:3] == ("cudnn.benchmark", True, "process")
        assert backends.explain("cudnn.benchmark")[4:6] == (False, by)
        for name in ("cudnn.deterministic", "mkldnn.deterministic"):
            own = BY_NAME[name].get()
            assert own is (name == by)
            expected = (True, by) if by == "deterministic_algorithms" else (own, None)
            assert backends.explain(name)[4:6] == expected
    assert backends.explain("cudnn.benchmark")[4:6] == (True, None)
