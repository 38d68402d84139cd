"""Programs for child processes, which say what they found as `answer`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from tests.helpers.subprocess import eval_python, run_python

PRELUDE = """
import ctypes, json, os, re, sys

def vendors():
    "The files in this process that belong to a vendor's library."
    folders = re.escape(os.path.realpath(sys.prefix)) + r"/lib/(?:lib|python[^/]+/site-packages/nvidia/)"
    elsewhere = r".*/lib(?:cuda|cudart|cublas|cudnn|dnnl|gomp|iomp5|mkl_rt|nccl|nvidia-ml|omp)[.]so"
    ours = re.compile(folders + "|" + elsewhere)
    with open("/proc/self/maps") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    return sorted(file for file in files if ours.match(file))

def only_here(folder):
    "From now on Python's packages are looked for in this folder, and its installation is nowhere."
    sys.path[:] = [str(folder)]
    sys.prefix = "/nowhere"

def refused(call, *arguments):
    "What a call raises: its type and what it says."
    try:
        call(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None
"""

# Each prints a line of its own where the library reports calls. C's output has a buffer of its own, too.
CALLS = """
def say(word):
    ctypes.CDLL(None).fflush(None)
    print(word, flush=True)

def matrices():
    return [(ctypes.c_float * 16)(*range(16)) for _ in range(3)]

def mkl_multiply():
    left, right, out = matrices()
    size, one = ctypes.c_int(4), ctypes.c_float(1)
    how = [ctypes.c_int(101), ctypes.c_int(111), ctypes.c_int(111)]  # row after row, neither one transposed
    ctypes.CDLL(libraries.load("mkl").path).cblas_sgemm(
        *how, size, size, size, one, left, size, right, size, ctypes.c_float(0), out, size)
    assert out[0] == sum(left[column] * right[4 * column] for column in range(4))

def onednn_multiply():
    left, right, out = matrices()
    size, one = ctypes.c_int64(4), ctypes.c_float(1)
    how = [ctypes.c_char(b"N"), ctypes.c_char(b"N")]
    status = ctypes.CDLL(libraries.load("onednn").path).dnnl_sgemm(
        *how, size, size, size, one, left, size, right, size, ctypes.c_float(0), out, size)
    assert status == 0
    assert out[0] == sum(left[column] * right[4 * column] for column in range(4))

def onednn_prepare():
    "Have oneDNN make a product of matrices that it can do later."
    onednn = ctypes.CDLL(libraries.load("onednn").path)
    engine, matrix, description, product = (ctypes.c_void_p() for _ in range(4))
    processor, float32, rows = 1, 3, 3
    shape = (ctypes.c_int64 * 12)(4, 4)
    assert onednn.dnnl_engine_create(ctypes.byref(engine), processor, ctypes.c_size_t(0)) == 0
    assert onednn.dnnl_memory_desc_create_with_tag(ctypes.byref(matrix), 2, shape, float32, rows) == 0
    assert onednn.dnnl_matmul_primitive_desc_create(
        ctypes.byref(description), engine, matrix, matrix, None, matrix, None) == 0
    assert onednn.dnnl_primitive_create(ctypes.byref(product), description) == 0
"""


def answer(code: str, env: Mapping[str, str] | None = None) -> Any:
    """Run `code` in a process of its own and return what it leaves in the name `answer`."""
    return eval_python(PRELUDE + textwrap.dedent(code), env=env)


def output(code: str, env: Mapping[str, str] | None = None) -> list[str]:
    """Run `code`, in which the calls above are known, and return the lines that it and libraries print."""
    done = run_python(PRELUDE + CALLS + textwrap.dedent(code), env=env)
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()
