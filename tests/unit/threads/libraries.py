"""Small libraries with the functions that threadpoolctl calls, for BLAS libraries that the tests lack."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import fake_libraries

# With pthreads, OpenBLAS has one size for the process; %d is the maximum of the build.
OPENBLAS = """
static int threads = 4;
int openblas_get_num_threads(void) { return threads; }
void openblas_set_num_threads(int value) { threads = value > %d ? %d : value; }
int openblas_get_parallel(void) { return %d; }
char *openblas_get_config(void) { return "OpenBLAS 0.3.99 fake"; }
char *openblas_get_corename(void) { return "Fake"; }
"""
# With OpenMP, threadpoolctl uses the functions of the runtime.
OPENBLAS_WITH_OPENMP = (
    OPENBLAS
    + """
static __thread int own = 4;
int omp_get_max_threads(void) { return own; }
void omp_set_num_threads(int value) { own = value; }
"""
)
OPENMP = """
static __thread int threads = 4;
int omp_get_max_threads(void) { return threads; }
int omp_get_num_threads(void) { return 1; }
void omp_set_num_threads(int value) { threads = value; }
"""
MKL = """
#include <stdio.h>
static int threads = 4;
static __thread int own;
int MKL_Get_Max_Threads(void) { return own ? own : threads; }
void MKL_Set_Num_Threads(int value) { threads = value; }
int MKL_Set_Num_Threads_Local(int value) { int before = own; own = value; return before; }
int MKL_Set_Threading_Layer(int layer) { return 0; }
void MKL_Get_Version_String(char *text, int length) {
    snprintf(text, length, "Math Library Version 2026.2-Product Build 20260915");
}
"""
BLIS = """
static long threads = 4;
long bli_thread_get_num_threads(void) { return threads; }
void bli_thread_set_num_threads(long value) { threads = value; }
char *bli_info_get_version_str(void) { return "9.9"; }
int bli_info_get_enable_openmp(void) { return 0; }
int bli_info_get_enable_pthreads(void) { return 1; }
"""


def build(folder: Path, soname: str, source: str) -> str:
    """Build a library, and return its path."""
    return str(fake_libraries.build(folder, soname, source))


def openblas(folder: Path, *, most: int = 64, parallel: int = 1) -> str:
    """Build OpenBLAS with a maximum of threads; `parallel` is 0 for none, 1 for pthreads, 2 for OpenMP."""
    source = OPENBLAS_WITH_OPENMP if parallel == 2 else OPENBLAS
    return build(folder, "libopenblas.so.0", source % (most, most, parallel))
