"""Small stand-ins for vendor libraries, built with the C compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = shutil.which("cc")

NEEDS_COMPILER = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="stand-ins are libraries of Linux, built with cc"
)

CUDNN = "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return %d; }\n"
CUSPARSELT = """
int cusparseLtGetProperty(int property, int *value) {
    const int version[] = {%d, %d, %d};
    *value = version[property];
    return 0;
}
"""
# They say what they were told in the order of the calls, and take what the real ones take.
MKL = """
#include <stdio.h>
int MKL_Verbose(int level) {
    printf("level %d\\n", level);
    fflush(stdout);
    return level == 0 || level == 1 ? level : -1;
}
"""
ONEDNN = """
#include <stdio.h>
int dnnl_set_verbose(int level) {
    printf("level %d\\n", level);
    fflush(stdout);
    return level >= 0 && level <= 2 ? 0 : 2;
}
"""
NOTHING = "int interlock_nothing;\n"


def build(folder: Path, soname: str, source: str) -> Path:
    """Build a library of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    text, library = folder / f"{soname}.c", folder / soname
    text.write_text(source)
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(library)]
    subprocess.run([str(COMPILER), *flags, str(text)], check=True, capture_output=True, timeout=60)
    return library


def environment(*folders: Path, **more: str) -> dict[str, str]:
    """An environment in which the loader is told of these folders, and of no others by variables."""
    none = dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"), "")
    return none | {"LD_LIBRARY_PATH": ":".join(map(str, folders))} | more
