"""Linear algebra by fakes of libraries with LAPACK, and by the OpenBLAS of numpy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program

# Matrices in columns, by the definitions of the factors. Computing on more than one thread ends the process.
# Singular values and eigenvalues are not found, so that interlock computes them.
LAPACK = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define A(i, j) a[(i) + (j) * *lda]
#define Q(i, j) q[(i) + (j) * *m]
static void check(void) { if (threads() != 1) abort(); }
void F(dpotrf)(const char *uplo, INT *n, double *a, INT *lda, INT *info) {
    check();
    *info = *uplo != 'U';
    for (INT j = 0; j < *n && !*info; j++)
        for (INT i = 0; i <= j && !*info; i++) {
            double sum = A(i, j);
            for (INT k = 0; k < i; k++) sum -= A(k, i) * A(k, j);
            if (i == j && sum <= 0) *info = i + 1;
            A(i, j) = i == j ? sqrt(sum) : sum / A(i, i);
        }
}
void F(dgetrf)(INT *m, INT *n, double *a, INT *lda, INT *pivots, INT *info) {
    check();
    *info = 0;
    for (INT k = 0; k < *m && k < *n; k++) {
        INT best = k;
        for (INT i = k; i < *m; i++) if (fabs(A(i, k)) > fabs(A(best, k))) best = i;
        pivots[k] = best + 1;
        if (A(best, k) == 0) { if (!*info) *info = k + 1; continue; }
        for (INT j = 0; j < *n; j++) { double t = A(k, j); A(k, j) = A(best, j); A(best, j) = t; }
        for (INT i = k + 1; i < *m; i++) {
            A(i, k) /= A(k, k);
            for (INT j = k + 1; j < *n; j++) A(i, j) -= A(i, k) * A(k, j);
        }
    }
}
void F(dtrsm)(char *side, char *uplo, char *trans, char *diag, INT *m, INT *n, double *alpha, double *a,
    INT *lda, double *b, INT *ldb) {
    check();
    if (*side != 'R' || *trans != 'N' || *alpha != 1) abort();
    for (INT s = 0; s < *n; s++) {
        INT j = *uplo == 'U' ? s : *n - 1 - s;
        for (INT i = 0; i < *m; i++) {
            double sum = b[i + j * *ldb];
            for (INT k = 0; k < *n; k++)
                if (*uplo == 'U' ? k < j : k > j) sum -= b[i + k * *ldb] * A(k, j);
            b[i + j * *ldb] = *diag == 'U' ? sum : sum / A(j, j);
        }
    }
}
static void reflect(INT *m, INT from, INT to, double *a, INT *lda, double *v, double tau, INT k) {
    for (INT j = from; j < to; j++) {
        double sum = A(k, j);
        for (INT i = k + 1; i < *m; i++) sum += v[i] * A(i, j);
        A(k, j) -= tau * sum;
        for (INT i = k + 1; i < *m; i++) A(i, j) -= tau * sum * v[i];
    }
}
void F(dgeqrf)(INT *m, INT *n, double *a, INT *lda, double *tau, double *work, INT *lwork, INT *info) {
    check();
    *info = 0;
    *work = 1;
    for (INT k = 0; *lwork != -1 && k < *m && k < *n; k++) {
        double below = 0, *v = &A(0, k);
        for (INT i = k + 1; i < *m; i++) below += v[i] * v[i];
        tau[k] = 0;
        if (below == 0) continue;
        double beta = -copysign(sqrt(v[k] * v[k] + below), v[k]);
        tau[k] = (beta - v[k]) / beta;
        for (INT i = k + 1; i < *m; i++) v[i] /= v[k] - beta;
        v[k] = beta;
        reflect(m, k + 1, *n, a, lda, v, tau[k], k);
    }
}
void F(dorgqr)(INT *m, INT *n, INT *k, double *a, INT *lda, double *tau, double *work, INT *lwork,
    INT *info) {
    check();
    *info = 0;
    *work = 1;
    if (*lwork == -1) return;
    double *q = calloc(*m * *n, sizeof *q);
    for (INT i = 0; i < *n; i++) Q(i, i) = 1;
    for (INT s = *k - 1; s >= 0; s--) reflect(m, 0, *n, q, m, &A(0, s), tau[s], s);
    memcpy(a, q, *m * *n * sizeof *q);
    free(q);
}
// Iterations do not converge, and leave parts of results.
static void fill(double *numbers, INT count) { while (count-- > 0) numbers[count] = count % 2 ? 7 : NAN; }
void F(dsyevd)(char *jobz, char *uplo, INT *n, double *a, INT *lda, double *w, double *work, INT *lwork,
    INT *iwork, INT *liwork, INT *info) {
    check();
    if (*lwork != -1) {
        fill(a, *n * *n);
        fill(w, *n);
    }
    *work = *iwork = *info = 1;
}
void F(dgesdd)(char *jobz, INT *m, INT *n, double *a, INT *lda, double *s, double *u, INT *ldu,
    double *vt, INT *ldvt, double *work, INT *lwork, INT *iwork, INT *info) {
    check();
    INT least = *m < *n ? *m : *n;
    if (*lwork != -1) fill(s, least);
    if (*lwork != -1 && *jobz != 'N') {
        fill(u, *ldu * (*jobz == 'A' ? *m : least));
        fill(vt, *ldvt * *n);
    }
    *work = *info = 1;
}
"""
# The process has one number of threads, which is 4 between calls.
OPENBLAS = """
typedef %s INT;
#define F(name) %s
#define C(name) %s
static int number = 4;
static int threads(void) { return number; }
const char *C(openblas_get_config)(void) { return "OpenBLAS 0.3.34 fake"; }
int C(openblas_get_parallel)(void) { return %d; }
int C(openblas_get_num_threads)(void) { return number; }
void C(openblas_set_num_threads)(int wanted) { number = wanted; }
"""
MKL = """
typedef int INT;
#define F(name) name##_
static __thread int number = 4;
static int threads(void) { return number; }
int MKL_Verbose(int level) { return level; }
int MKL_Set_Num_Threads_Local(int wanted) { int before = number; number = wanted; return before; }
"""
# The type of integers, and the names of functions of Fortran and C.
OF_NUMPY = ("long", "scipy_##name##_64_", "scipy_##name##64_")
OF_SYSTEM = ("int", "name##_", "name")
# The results of `failures`.
FAILURES = {
    "cholesky": 1,
    "cholesky of nan": 2,
    "lu": 2,
    "eigenvalues are nan": True,
    "empty": [[], []],
}


def without_libraries(folder: Path) -> dict[str, str]:
    """Return the environment of a program that finds no library."""
    absent = str(folder / "absent")
    return {"INTERLOCK_MKL_PATH": absent, "INTERLOCK_OPENBLAS_PATH": absent}


def with_openblas(folder: Path, names: tuple[str, str, str], parallel: int = 1) -> dict[str, str]:
    """Return the environment of a program that finds a fake of OpenBLAS."""
    source = OPENBLAS % (*names, parallel) + LAPACK
    library = fake_libraries.build(folder, "libscipy_openblas64_-1f0a.so", source)
    return without_libraries(folder) | {"INTERLOCK_OPENBLAS_PATH": str(library)}


def with_mkl(folder: Path) -> dict[str, str]:
    """Return the environment of a program that finds a fake of MKL."""
    library = fake_libraries.build(folder, "libmkl_rt.so.2", MKL + LAPACK)
    return without_libraries(folder) | {"INTERLOCK_MKL_PATH": str(library)}


def assert_computes(kernel: str, env: dict[str, str], folder: Path) -> None:
    """Assert that a kernel computes every factorization, and finds what interlock's own kernels find."""
    found = eval_program("tensor.linalg_by_lapack.results", env=env)
    own = eval_program("tensor.linalg_by_lapack.results", env=without_libraries(folder))
    assert (found["kernels"], own["kernels"]) == ([kernel], ["native"])
    for result, expected in zip(found["results"], own["results"], strict=True):
        assert result == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert eval_program("tensor.linalg_by_lapack.failures", env=env) == FAILURES
    assert eval_program("tensor.linalg_by_lapack.forked", env=env) == 0
    assert eval_program("tensor.linalg_by_lapack.on_threads", env=env) == [True] * 4


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("names", [OF_NUMPY, OF_SYSTEM], ids=["numpy", "system"])
def test_openblas_finds_the_results_of_interlock(names: tuple[str, str, str], tmp_path: Path) -> None:
    assert_computes("openblas", with_openblas(tmp_path, names), tmp_path)


@fake_libraries.NEEDS_COMPILER
def test_mkl_finds_the_results_of_interlock(tmp_path: Path) -> None:
    assert_computes("mkl", with_mkl(tmp_path), tmp_path)


def test_openblas_of_numpy_finds_the_results_of_interlock(tmp_path: Path) -> None:
    env = {"INTERLOCK_MKL_PATH": str(tmp_path / "absent")}
    call = eval_program("tensor.linalg_by_lapack.reasons", env=env)
    if call["kernel"] != "openblas":
        pytest.skip(f"numpy brings no OpenBLAS that interlock uses: {call['text']}")
    assert_computes("openblas", env, tmp_path)


@fake_libraries.NEEDS_COMPILER
def test_libraries_compute_only_matrices_of_their_least_size(tmp_path: Path) -> None:
    for kernel, env in (("openblas", with_openblas(tmp_path, OF_NUMPY)), ("mkl", with_mkl(tmp_path))):
        found = eval_program("tensor.linalg_by_lapack.least_sizes", env=env)
        reasons = {operation: reason for operation, (*_, reason) in found.items()}
        assert all(kernels == [kernel, "native"] for *kernels, _ in found.values())
        assert reasons == {
            "cholesky": "needs at least 12 rows, got 11",
            "lu_factor": "needs at least 36 rows, got 35",
            "solve_triangular": "needs at least 12 rows, got 11",
            "qr": "needs at least 32 rows, got 31",
            "eigh": "needs at least 4 rows, got 3",
            "svd": "needs at least 8 columns, got 7",
        }


def test_own_kernels_report_failures(tmp_path: Path) -> None:
    env = without_libraries(tmp_path)
    assert eval_program("tensor.linalg_by_lapack.failures", env=env) == FAILURES
    assert eval_program("tensor.linalg_by_lapack.on_threads", env=env) == [True] * 4


@fake_libraries.NEEDS_COMPILER
def test_what_a_library_lacks_is_the_reason_against_it(tmp_path: Path) -> None:
    call = eval_program("tensor.linalg_by_lapack.reasons", env=with_openblas(tmp_path, OF_SYSTEM, parallel=2))
    assert call["kernel"] == "native"
    assert "openblas: OpenBLAS is built with OpenMP" in call["text"]
    source = "const char *openblas_get_config(void) { return 0; }"
    library = fake_libraries.build(tmp_path / "older", "libopenblas.so.0", source)
    env = without_libraries(tmp_path) | {"INTERLOCK_OPENBLAS_PATH": str(library)}
    call = eval_program("tensor.linalg_by_lapack.reasons", env=env)
    assert call["kernel"] == "native"
    assert "lacks openblas_get_parallel" in call["text"]
