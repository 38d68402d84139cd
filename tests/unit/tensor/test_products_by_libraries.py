"""Products and convolutions by fakes of oneDNN and MKL, which compute their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program, run_program

pytestmark = fake_libraries.NEEDS_COMPILER

PROGRAM = "tensor.products_by_libraries"
ONEDNN = (Path(__file__).parents[2] / "helpers" / "fake_onednn.c").read_text()
# Matrices in rows and columns; a call on more than one thread computes nothing.
CBLAS = """
int MKL_Verbose(int level) { return level; }
static __thread int threads;
int MKL_Set_Num_Threads_Local(int count) { int former = threads; threads = count; return former; }
#define GEMM(name, type) \\
void name(int order, int of_a, int of_b, long m, long n, long k, type alpha, const type *a, long lda, \\
          const type *b, long ldb, type beta, type *c, long ldc) { \\
    if (order != 101 || threads != 1 || alpha != 1 || beta != 1) return; \\
    for (long row = 0; row < m; row++) \\
        for (long column = 0; column < n; column++) \\
            for (long at = 0; at < k; at++) \\
                c[row * ldc + column] += (of_a == 111 ? a[row * lda + at] : a[at * lda + row]) \\
                                       * (of_b == 111 ? b[at * ldb + column] : b[column * ldb + at]); \\
}
GEMM(cblas_sgemm_64, float)
GEMM(cblas_dgemm_64, double)
"""
# An older library, without what products need.
WITHOUT = "int MKL_Verbose(int level) { return level; }\n"


def environment(folder: Path, *, onednn: str | None = None, mkl: str | None = None) -> dict[str, str]:
    """Return the environment of a program that finds libraries of these sources, and no others."""
    sources = {"ONEDNN": ("libdnnl.so.3", onednn), "MKL": ("libmkl_rt.so.2", mkl)}
    paths = {
        f"INTERLOCK_{name}_PATH": str(
            folder / "absent" if source is None else fake_libraries.build(folder, soname, source)
        )
        for name, (soname, source) in sources.items()
    }
    return fake_libraries.environment(**paths)


def results(name: str, *arguments: object, env: dict[str, str]) -> Any:
    return eval_program(f"{PROGRAM}.{name}", *arguments, env=env)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products_by_libraries_are_those_of_interlock(tmp_path: Path, dtype: str) -> None:
    own = results("products", dtype, env=environment(tmp_path / "none"))
    assert own["kernels"] == ["native"]
    by_onednn = results("products", dtype, env=environment(tmp_path / "onednn", onednn=ONEDNN))
    by_mkl = results("products", dtype, env=environment(tmp_path / "mkl", mkl=CBLAS))
    assert by_onednn["kernels"] == (["onednn"] if dtype == "float32" else ["native"])
    assert by_mkl["kernels"] == (["native"] if dtype == "bfloat16" else ["mkl"])
    assert own["results"] == by_onednn["results"] == by_mkl["results"]


def test_convolutions_by_onednn_are_those_of_interlock(tmp_path: Path) -> None:
    own = results("convolutions", env=environment(tmp_path / "none"))
    by_onednn = results("convolutions", env=environment(tmp_path / "onednn", onednn=ONEDNN))
    assert (own["kernels"], by_onednn["kernels"]) == (["native"], ["onednn"])
    assert own["results"] == by_onednn["results"]


def test_quantized_layers_by_onednn_are_exact_or_refused(tmp_path: Path) -> None:
    equal, line = results("quantized", env=environment(tmp_path / "vnni", onednn=ONEDNN))
    assert equal == [True] * 3
    assert line.startswith("quantized_linear cpu quint8 3x90 @ qint8 90x200 -> onednn")
    without_vnni = environment(tmp_path / "avx512", onednn="#define ISA 0x27\n" + ONEDNN)
    equal, line = results("quantized", env=without_vnni)
    assert equal == []
    assert "onednn: needs VNNI: without it oneDNN's 16-bit sums saturate" in line


def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    for folder, sources in (("onednn", {"onednn": ONEDNN}), ("mkl", {"mkl": CBLAS})):
        one, *others = results(
            "equal_for_every_number_of_threads", env=environment(tmp_path / folder, **sources)
        )
        assert others == [one, one]


def test_record_names_the_library_and_the_flag_that_disables_it(tmp_path: Path) -> None:
    line, disabled, explained = results("record", env=environment(tmp_path, onednn=ONEDNN, mkl=CBLAS))
    assert line.startswith("matmul cpu float32 100x100 @ 100x100 -> onednn | ")
    assert line.endswith(" | mkl: behind onednn | native: behind onednn")
    assert (disabled, explained) == ("mkl", "onednn")


@pytest.mark.parametrize(
    ("onednn", "mkl", "reasons"),
    [
        (None, None, ["onednn: INTERLOCK_ONEDNN_PATH: ", "mkl: INTERLOCK_MKL_PATH: "]),
        (None, WITHOUT, ["lacks cblas_sgemm_64"]),
        (
            "#define RUNTIME 4\n" + ONEDNN,
            None,
            ["onednn: needs a build with a usable OpenMP runtime or without threads, got CPU runtime 4"],
        ),
        ("#define MAJOR 4\n" + ONEDNN, None, ["onednn: needs version 3, got 4"]),
        (
            ONEDNN.replace("if (kind != 1 ||", "if (kind == 1 ||"),
            None,
            ["no engine for this CPU: invalid arguments"],
        ),
        (
            ONEDNN.replace("->type != 3 &&", "->type != 9 &&"),
            None,
            ['onednn: oneDNN reports "unimplemented"'],
        ),
    ],
)
def test_what_a_library_lacks_is_the_reason_against_it(
    tmp_path: Path, onednn: str | None, mkl: str | None, reasons: list[str]
) -> None:
    line, _, _ = results("record", env=environment(tmp_path, onednn=onednn, mkl=mkl))
    assert line.startswith("matmul cpu float32 100x100 @ 100x100 -> native | ")
    for reason in reasons:
        assert reason in line


@pytest.mark.parametrize("version", ["#define WITHOUT_DETERMINISTIC\n", ""])
def test_onednn_receives_the_precision_and_whether_results_must_be_equal(
    tmp_path: Path, version: str
) -> None:
    done = run_program(f"{PROGRAM}.verbose", env=environment(tmp_path, onednn=version + ONEDNN))
    assert done.code == 0, done.stderr
    ordered = int(not version)
    calls = {"ieee": (0, 0), "bf16": (1, 0), "tf32": (4, 0), "True": (0, ordered)}
    words = ["ieee", "bf16", "tf32", "True", "True"]
    lines = [
        f"{word}\nonednn_verbose,exec,m,mode {calls[word][0]},ordered {calls[word][1]}" for word in words
    ]
    assert done.stdout == "\n".join([*lines, "after\n"])


def test_forked_child_multiplies_with_a_library_that_its_parent_has_used(tmp_path: Path) -> None:
    assert results("forked", env=environment(tmp_path, onednn=ONEDNN)) == 0


def test_fork_waits_while_another_thread_prepares_a_product(tmp_path: Path) -> None:
    env = environment(tmp_path, onednn="#define PREPARATION 20000\n" + ONEDNN)
    assert results("forks_while_another_thread_prepares", env=env) == [0] * 5


def test_first_use_of_a_library_may_meet_changes_of_the_environment(tmp_path: Path) -> None:
    env = environment(tmp_path, onednn=ONEDNN)
    assert results("first_use_while_the_environment_changes", env=env) == ["onednn"] * 4


def test_objects_of_onednn_are_freed(tmp_path: Path) -> None:
    assert results("live_objects", env=environment(tmp_path, onednn=ONEDNN)) == 0
