"""Fourier transforms by a fake of MKL, which computes their definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program

pytestmark = fake_libraries.NEEDS_COMPILER

# A descriptor has the number of points. Lengths above 50 cannot be committed.
DFTI = """
#include <complex.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
int MKL_Verbose(int level) { return level; }
struct descriptor { long points, limit; int committed; };
long DftiCreateDescriptor_d_1d(struct descriptor **made, int domain, long points) {
    if (domain != 32) return 3;
    *made = calloc(1, sizeof **made);
    (*made)->points = points;
    return 0;
}
long DftiSetValue(struct descriptor *of, int parameter, ...) {
    va_list values;
    va_start(values, parameter);
    if (parameter == 27) of->limit = va_arg(values, long);
    va_end(values);
    return parameter == 27 ? 0 : 3;
}
long DftiCommitDescriptor(struct descriptor *of) {
    of->committed = of->limit == 1;
    return of->points > 50 ? 7 : 0;
}
static long transform(struct descriptor *of, double complex *signal, int sign) {
    if (!of->committed) return 3;
    double complex *sums = calloc(of->points, sizeof *sums);
    for (long k = 0; k < of->points; k++)
        for (long t = 0; t < of->points; t++)
            sums[k] += signal[t] * cexp(sign * 2 * acos(-1) * I * (k * t % of->points) / of->points);
    for (long k = 0; k < of->points; k++) signal[k] = sums[k];
    free(sums);
    return 0;
}
long DftiComputeForward(struct descriptor *of, void *signal, ...) { return transform(of, signal, -1); }
long DftiComputeBackward(struct descriptor *of, void *signal, ...) { return transform(of, signal, 1); }
long DftiFreeDescriptor(struct descriptor **of) {
    free(*of);
    *of = 0;
    return 0;
}
const char *DftiErrorMessage(long status) { return status == 7 ? "too \\"many\\" points" : "wrong use"; }
"""
# An older library, without what transforms need.
WITHOUT = "int MKL_Verbose(int level) { return level; }\n"


def with_mkl(folder: Path, source: str) -> dict[str, str]:
    """Return the environment of a program that finds a library of this source as MKL."""
    library = fake_libraries.build(folder, "libmkl_rt.so.2", source)
    return fake_libraries.environment(INTERLOCK_MKL_PATH=str(library))


def test_transforms_by_mkl_are_those_of_interlock(tmp_path: Path) -> None:
    by_mkl = eval_program("tensor.fft_by_mkl.results", env=with_mkl(tmp_path, DFTI))
    own = eval_program("tensor.fft_by_mkl.results", env=with_mkl(tmp_path / "older", WITHOUT))
    assert set(by_mkl["kernels"]) == {"mkl"}
    assert set(own["kernels"]) == {"native"}
    for transformed, expected in zip(by_mkl["results"], own["results"], strict=True):
        assert transformed == pytest.approx(expected, abs=1e-6)


def test_what_mkl_lacks_or_reports_is_the_reason_against_it(tmp_path: Path) -> None:
    lacking = eval_program("tensor.fft_by_mkl.reasons", env=with_mkl(tmp_path, WITHOUT))
    assert lacking["kernel"] == "native"
    assert "mkl: INTERLOCK_MKL_PATH: " in lacking["text"]
    assert "DftiCreateDescriptor_d_1d" in lacking["text"]
    small = DFTI.replace("> 50", "> 5")
    refused = eval_program("tensor.fft_by_mkl.reasons", env=with_mkl(tmp_path / "small", small))
    assert refused["kernel"] == "native"
    assert 'mkl: MKL reports "too \\"many\\" points"' in refused["text"]


def test_forked_child_transforms_with_a_library_that_its_parent_has_used(tmp_path: Path) -> None:
    env = with_mkl(tmp_path, DFTI.replace("> 50", "> 500"))
    assert eval_program("tensor.fft_by_mkl.forked", env=env) == 0
