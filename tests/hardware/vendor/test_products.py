"""Products and convolutions by oneDNN and MKL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program, run_program

PROGRAM = "tensor.products_by_libraries"
# From AVX2, which most machines have, to what the machine has.
CAPS = pytest.mark.parametrize("cap", ["AVX2", "AVX512_CORE", "DEFAULT"])


def without(folder: Path, *libraries: str) -> dict[str, str]:
    """Return variables with which these libraries are not found."""
    return {f"INTERLOCK_{library}_PATH": str(folder / "absent") for library in libraries}


def results(name: str, *arguments: object, env: dict[str, str] | None = None) -> Any:
    return eval_program(f"{PROGRAM}.{name}", *arguments, env=env)


@CAPS
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products_by_libraries_are_those_of_interlock(tmp_path: Path, cap: str, dtype: str) -> None:
    own = results("products", dtype, env=without(tmp_path, "ONEDNN", "MKL"))
    assert own["kernels"] == ["native"]
    cap_of_onednn = {"ONEDNN_MAX_CPU_ISA": cap}
    by_onednn = results("products", dtype, env=cap_of_onednn | without(tmp_path, "MKL"))
    by_mkl = results("products", dtype, env=without(tmp_path, "ONEDNN"))
    # oneDNN multiplies bfloat16 on some CPUs.
    expected = {"float32": [["onednn"]], "float64": [["native"]], "bfloat16": [["native"], ["onednn"]]}
    assert by_onednn["kernels"] in expected[dtype]
    assert by_mkl["kernels"] == (["native"] if dtype == "bfloat16" else ["mkl"])
    assert own["results"] == by_onednn["results"] == by_mkl["results"]


@CAPS
def test_convolutions_by_onednn_are_those_of_interlock(tmp_path: Path, cap: str) -> None:
    own = results("convolutions", env=without(tmp_path, "ONEDNN"))
    by_onednn = results("convolutions", env={"ONEDNN_MAX_CPU_ISA": cap})
    assert (own["kernels"], by_onednn["kernels"]) == (["native"], ["onednn"])
    assert own["results"] == by_onednn["results"]


@CAPS
def test_quantized_layers_by_onednn_are_exact_or_refused(cap: str) -> None:
    equal, line = results("quantized", env={"ONEDNN_MAX_CPU_ISA": cap})
    assert equal == ([True] * 3 if " -> onednn" in line else [])
    assert " -> onednn" in line or "onednn: needs VNNI" in line
    if cap in ("AVX2", "AVX512_CORE"):
        assert equal == [], "these instruction sets have no VNNI"


@pytest.mark.parametrize("absent", ["ONEDNN", "MKL"])
def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path, absent: str) -> None:
    one, *others = results("equal_for_every_number_of_threads", env=without(tmp_path, absent))
    assert others == [one, one]


def test_record_names_the_library_and_the_flag_that_disables_it() -> None:
    line, disabled, explained = results("record")
    assert line.startswith("matmul cpu float32 100x100 @ 100x100 -> onednn | ")
    assert (disabled, explained) == ("mkl", "onednn")


def test_verbose_lines_show_the_calls_and_the_permitted_precision() -> None:
    done = run_program(f"{PROGRAM}.verbose")
    assert done.code == 0, done.stderr
    words, modes = ("ieee", "bf16", "tf32", "True", "after"), []
    word = ""
    for line in done.stdout.splitlines():
        word = line if line in words else word
        if line.startswith("onednn_verbose") and ",exec," in line and ",matmul," in line:
            mode = next((mode for mode in ("bf16", "tf32") if f"attr-fpmath:{mode}" in line), "ieee")
            modes.append((word, mode))
    assert modes == [("ieee", "ieee"), ("bf16", "bf16"), ("tf32", "tf32"), ("True", "ieee"), ("True", "ieee")]


def test_forked_child_multiplies_after_openmp_threads_of_its_parent() -> None:
    assert results("forked") == 0


def test_first_use_of_a_library_may_meet_changes_of_the_environment() -> None:
    assert results("first_use_while_the_environment_changes") == ["onednn"] * 4
