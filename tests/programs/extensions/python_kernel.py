"""Registers Python functions as kernels of matrix products; they run attached to the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from interlock import _core

REFUSED = 1
# The offset of `kernel_register` in the table.
KERNEL_REGISTER = 424

Run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Text(ctypes.Structure):
    """`InterlockText`."""

    _fields_ = [("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Kernel(ctypes.Structure):
    """`InterlockKernel`."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("gates", ctypes.c_void_p),
        ("num_gates", ctypes.c_size_t),
        ("node", ctypes.c_char_p),
        ("context", ctypes.c_void_p),
        ("condition", ctypes.c_void_p),
        ("run", Run),
    ]


kept = []


def register_product(run: Callable[[], None]) -> None:
    """Register a kernel of `matmul` that calls `run` and refuses, so that one of interlock follows."""

    def call(*_: object) -> int:
        run()
        return REFUSED

    function = Run(call)
    kept.append(function)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(_core._C_API, b"interlock._core._C_API")
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, Text, ctypes.POINTER(Kernel), ctypes.c_void_p)
    register = prototype(ctypes.c_void_p.from_address(table + KERNEL_REGISTER).value)
    kernel = Kernel(size=ctypes.sizeof(Kernel), name=b"python", run=function)
    assert register(Text(b"matmul", 6), kernel, None) == 0
