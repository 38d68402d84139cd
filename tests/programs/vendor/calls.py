"""Calls of MKL and oneDNN, with a printed word before each."""

import ctypes

import interlock
import interlock.fft
from interlock.backends import libraries, mkl, mkldnn


def say(word):
    # C's standard output has its own buffer.
    ctypes.CDLL(None).fflush(None)
    print(word, flush=True)


def matrices():
    return [(ctypes.c_float * 16)(*range(16)) for _ in range(3)]


def mkl_multiply():
    left, right, out = matrices()
    size, one = ctypes.c_int(4), ctypes.c_float(1)
    how = [ctypes.c_int(101), ctypes.c_int(111), ctypes.c_int(111)]  # row after row, neither one transposed
    ctypes.CDLL(libraries.load("mkl").path).cblas_sgemm(
        *how, size, size, size, one, left, size, right, size, ctypes.c_float(0), out, size
    )
    assert out[0] == sum(left[column] * right[4 * column] for column in range(4))


def onednn_multiply():
    left, right, out = matrices()
    size, one = ctypes.c_int64(4), ctypes.c_float(1)
    how = [ctypes.c_char(b"N"), ctypes.c_char(b"N")]
    status = ctypes.CDLL(libraries.load("onednn").path).dnnl_sgemm(
        *how, size, size, size, one, left, size, right, size, ctypes.c_float(0), out, size
    )
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
    made = onednn.dnnl_matmul_primitive_desc_create(
        ctypes.byref(description), engine, matrix, matrix, None, matrix, None
    )
    assert made == 0
    assert onednn.dnnl_primitive_create(ctypes.byref(product), description) == 0


def mkl_calls(word):
    say(word)
    mkl_multiply()


def onednn_calls(word):
    say(word)
    onednn_multiply()
    onednn_prepare()


def verbose_around_calls(name, level, is_called_before):
    """Call a library inside a scope and after it, and optionally before it."""
    module, calls = {"mkl": (mkl, mkl_calls), "mkldnn": (mkldnn, onednn_calls)}[name]

    if is_called_before:
        calls("before")
    with module.verbose(level):
        calls("inside")
    calls("after")


def verbose_around_transforms(level):
    """Transform before, inside and after a scope, and print where."""
    x = interlock.ones(8)
    print("before", flush=True)
    interlock.fft.rfft(x)
    with mkl.verbose(level):
        print("inside", flush=True)
        interlock.fft.rfft(x)
    print("after", flush=True)
    interlock.fft.rfft(x)


def verbose_inside_of_verbose():
    with mkldnn.verbose(2), mkl.verbose(1):
        with mkldnn.verbose(1), mkl.verbose(1):
            onednn_calls("oneDNN inside")
            mkl_calls("MKL inside")
        with mkldnn.verbose(0), mkl.verbose(0):
            onednn_calls("oneDNN between")
        onednn_calls("oneDNN outside")
        mkl_calls("MKL outside")
    onednn_calls("oneDNN after")
    mkl_calls("MKL after")
