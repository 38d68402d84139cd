"""The launches of the test kernels, checked with a fake of NVIDIA's driver: no GPU is needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hardware.gpu.slow_kernel import PTX, Kernels, Library

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="the fake is built with the C compiler"
)

# It reads the arguments of a launch as the kernels declare them, and stores the last ones.
FAKE = r"""
#include <stdint.h>
#include <string.h>

struct launch {
    uint64_t function, stream, first, second;
    uint32_t number, threads, shared;
};
struct launch last;
const char *text;
uint64_t current = 7;

int cuInit(unsigned flags) { return 0; }
int cuDevicePrimaryCtxRetain(uint64_t *context, int device) { *context = 100 + device; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    *flags = 0;
    *active = device == 1;
    return 0;
}
int cuCtxGetCurrent(uint64_t *context) { *context = current; return 0; }
int cuCtxSetCurrent(uint64_t context) { current = context; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    if (current != 101) return 201;
    *free = 5000000000;
    *total = 6000000000;
    return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { *address = 4096; return 0; }
int cuMemFree_v2(uint64_t address) { return address == 4096 ? 0 : 1; }
int cuModuleLoadData(uint64_t *module, const char *image) { *module = 9; text = strdup(image); return 0; }
int cuModuleGetFunction(uint64_t *function, uint64_t module, const char *name) {
    *function = strcmp(name, "spin_and_store") == 0 ? 1 : strcmp(name, "add_and_store") == 0 ? 2 : 0;
    return module == 9 && *function != 0 ? 0 : 500;
}
int cuLaunchKernel(uint64_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, uint64_t stream, void **arguments, void **extra) {
    if (extra != 0 || current != 101) return 1;
    last.function = function;
    last.stream = stream;
    last.first = *(uint64_t *)arguments[0];
    last.second = *(uint64_t *)arguments[1];
    last.number = *(uint32_t *)arguments[2];
    last.threads = gx * gy * gz * bx * by * bz;
    last.shared = shared;
    return 0;
}
"""


class Launch(ctypes.Structure):
    """The launch recorded by the fake."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("function", "stream", "first", "second")),
        *((name, ctypes.c_uint32) for name in ("number", "threads", "shared")),
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("driver")
    source, library = folder / "driver.c", folder / "driver.so"
    source.write_text(FAKE)
    command = [str(COMPILER), "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return str(library)


def last(path: str) -> tuple[int, ...]:
    launch = Launch.in_dll(ctypes.CDLL(path), "last")
    return tuple(getattr(launch, name) for name, *_ in Launch._fields_)


def test_launch_passes_arguments_in_order_and_size(path: str) -> None:
    kernels = Kernels(Library(path), device=1)
    high = 0x7F00_1234_5678_9ABC
    kernels.spin(high + 1, 20.0, high, 2**32 - 1)
    assert last(path) == (1, high + 1, 20_000_000_000, high, 2**32 - 1, 1, 0)
    kernels.add(0, high + 8, high, 3)
    assert last(path) == (2, 0, high + 8, high, 3, 1, 0)


def test_launch_restores_the_current_context(path: str) -> None:
    library = Library(path)
    kernels = Kernels(library, device=1)
    kernels.spin(0, 0.0, 0)
    assert library.current_context() == 7
    assert library.memory_info(1) == (5_000_000_000, 6_000_000_000)
    with pytest.raises(RuntimeError, match="cuMemGetInfo_v2 returned 201"):
        library.memory_info(0)
    assert library.current_context() == 7
    assert (library.has_primary_context(0), library.has_primary_context(1)) == (False, True)


def test_kernel_source_is_passed_to_the_driver_whole(path: str) -> None:
    Kernels(Library(path), device=1)
    assert ctypes.c_char_p.in_dll(ctypes.CDLL(path), "text").value == PTX


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas of the CUDA toolkit is not installed")
def test_kernel_source_is_accepted_by_ptxas(tmp_path: Path) -> None:
    text = tmp_path / "kernels.ptx"
    text.write_bytes(PTX)
    command = ["ptxas", "--gpu-name", "sm_90", "-o", str(tmp_path / "kernels.cubin"), str(text)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
