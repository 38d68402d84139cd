"""Small fakes of vendor libraries, built with the C compiler."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.helpers import sanitizer

COMPILER = shutil.which("cc")

NEEDS_COMPILER = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="the fakes are Linux libraries, built with cc"
)

CUDNN = "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return %d; }\n"
#: The version function of most of NVIDIA's libraries: its name, then the parts.
PROPERTIES = """
int %s(int property, int *value) {
    const int version[] = {%d, %d, %d};
    *value = version[property];
    return 0;
}
"""
CUSPARSELT = PROPERTIES.replace("%s", "cusparseLtGetProperty")
NCCL = "int ncclGetVersion(int *version) { *version = %d; return 0; }\n"
NVRTC = "int nvrtcVersion(int *major, int *minor) { *major = %d; *minor = %d; return 0; }\n"
NVML = """
#include <stdio.h>
static int initialised;
int nvmlInit_v2(void) { initialised = 1; return 0; }
int nvmlSystemGetNVMLVersion(char *text, unsigned length) {
    return initialised ? snprintf(text, length, "12.%d.1"), 0 : 1;
}
"""
OPENMP = "int omp_get_max_threads(void) { return %d; }\n"
# They print the level of each call, and accept the levels of the real libraries.
MKL = """
#include <stdio.h>
int MKL_Verbose(int level) {
    printf("level %d\\n", level);
    fflush(stdout);
    return level == 0 || level == 1 ? level : -1;
}
void MKL_Get_Version_String(char *text, int length) {
    snprintf(text, length, "Math Library Version 2026.2-Product Build 20260915");
    printf("version query\\n");
    fflush(stdout);
}
"""
ONEDNN = """
#include <stdio.h>
int dnnl_set_verbose(int level) {
    printf("level %d\\n", level);
    fflush(stdout);
    return level >= 0 && level <= 2 ? 0 : 2;
}
const void *dnnl_version(void) {
    static const struct { int major, minor, patch; const char *hash; } version = {3, 2, 1, ""};
    return &version;
}
"""
OPENBLAS = """
const char *scipy_openblas_get_config64_(void) { return "OpenBLAS 0.3.31 USE64BITINT MAX_THREADS=64"; }
"""
EMPTY_LIBRARY = "int interlock_nothing;\n"


def build(folder: Path, soname: str, source: str, needs: Path | None = None) -> Path:
    """Build a library of this name, which may link another one."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / soname
    needed = () if needs is None else ("-Wl,--no-as-needed", str(needs), f"-Wl,-rpath,{needs.parent}")
    library.write_bytes(_compiled(soname, source, needed))
    return library


@functools.cache
def _compiled(soname: str, source: str, needed: tuple[str, ...]) -> bytes:
    """Return a compiled library; many tests use the same one."""
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "source.c"), Path(folder, soname)
        text.write_text(source)
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(library)]
        command = [str(COMPILER), *flags, str(text), *needed]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return library.read_bytes()


def environment(*folders: Path, **more: str) -> dict[str, str]:
    """Return an environment in which only these folders are in the loader's search path."""
    none = dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"), "")
    return sanitizer.preloaded(none) | {"LD_LIBRARY_PATH": ":".join(map(str, folders))} | more
