"""Test kernels, launched on streams of interlock through NVIDIA's driver library.

The library is called with ctypes, so the CUDA toolkit is not needed. Its functions accept pointers and
integers of fixed sizes; each argument is wrapped in the ctypes type of the parameter.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Generator
from typing import Any

LIBRARY = "libcuda.so.1"

# Both run as one thread. The timer counts nanoseconds. `spin` occupies its multiprocessor for a time and
# then stores a number, so a later copy shows whether it waited for the kernel; `add` stores the sum of
# the value that it reads and a number. Names of instructions are reserved.
PTX = b"""
.version 6.0
.target sm_52
.address_size 64

.visible .entry spin_and_store(
    .param .u64 spin_nanoseconds,
    .param .u64 spin_address,
    .param .u32 spin_number
)
{
    .reg .pred %early;
    .reg .b32 %number;
    .reg .b64 %limit, %address, %begun, %now, %passed;

    ld.param.u64 %limit, [spin_nanoseconds];
    ld.param.u64 %address, [spin_address];
    ld.param.u32 %number, [spin_number];
    cvta.to.global.u64 %address, %address;
    mov.u64 %begun, %globaltimer;
$look_again:
    mov.u64 %now, %globaltimer;
    sub.u64 %passed, %now, %begun;
    setp.lt.u64 %early, %passed, %limit;
    @%early bra $look_again;
    st.global.u32 [%address], %number;
    ret;
}

.visible .entry add_and_store(
    .param .u64 add_to,
    .param .u64 add_from,
    .param .u32 add_number
)
{
    .reg .b32 %value, %number;
    .reg .b64 %to, %from;

    ld.param.u64 %to, [add_to];
    ld.param.u64 %from, [add_from];
    ld.param.u32 %number, [add_number];
    cvta.to.global.u64 %to, %to;
    cvta.to.global.u64 %from, %from;
    ld.global.u32 %value, [%from];
    add.u32 %value, %value, %number;
    st.global.u32 [%to], %value;
    ret;
}
"""


class Library:
    """NVIDIA's driver library, or a fake."""

    def __init__(self, path: str = LIBRARY) -> None:
        self._library = ctypes.CDLL(path)
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raise RuntimeError unless it returns 0."""
        code = self.code(name, *arguments)
        if code != 0:
            raise RuntimeError(f"{name} returned {code}")

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function and return its `CUresult`, which is 0 for success."""
        function = self._library[name]
        function.restype = ctypes.c_int
        returned: int = function(*arguments)
        return returned

    def primary_context(self, device: int) -> ctypes.c_void_p:
        """Retain and return the primary context, which interlock uses, too. It is never released."""
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
        return context

    def has_primary_context(self, device: int) -> bool:
        """Return whether the primary context of a device is active in this process."""
        flags, active = ctypes.c_uint(), ctypes.c_int()
        pointers = (ctypes.byref(flags), ctypes.byref(active))
        self.call("cuDevicePrimaryCtxGetState", ctypes.c_int(device), *pointers)
        return bool(active.value)

    def current_context(self) -> int | None:
        """Return the address of the context that is current on this thread."""
        current = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(current))
        return current.value

    @contextlib.contextmanager
    def current(self, context: ctypes.c_void_p) -> Generator[None]:
        """Make a context current on this thread, and restore the previous one on exit."""
        before = ctypes.c_void_p(self.current_context())
        self.call("cuCtxSetCurrent", context)
        try:
            yield
        finally:
            self.call("cuCtxSetCurrent", before)

    def memory_info(self, device: int = 0) -> tuple[int, int]:
        """Return the driver's numbers of free and total bytes of a device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self.current(self.primary_context(device)):
            self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value


class Kernels:
    """The kernels, loaded on a device.

    They have run once already: a driver may load code at the first launch and then synchronize the device.
    """

    def __init__(self, library: Library, device: int = 0) -> None:
        self._library = library
        self._context = library.primary_context(device)
        module = ctypes.c_void_p()
        with library.current(self._context):
            library.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
            self._spin, self._add = (
                self._function(module, name) for name in (b"spin_and_store", b"add_and_store")
            )
            self._warm_up()

    def _function(self, module: ctypes.c_void_p, name: bytes) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self._library.call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name))
        return function

    def _warm_up(self) -> None:
        address = ctypes.c_uint64()
        self._library.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(8))
        self.spin(0, 0.0, address.value)
        self.add(0, address.value, address.value)
        self._library.call("cuCtxSynchronize")
        self._library.call("cuMemFree_v2", address)

    def spin(self, stream: int, seconds: float, address: int, number: int = 1) -> None:
        """Launch a kernel that runs for `seconds` and then stores 32 bits at an address."""
        nanoseconds = ctypes.c_uint64(round(seconds * 1e9))
        self._launch(self._spin, stream, nanoseconds, ctypes.c_uint64(address), ctypes.c_uint32(number))

    def add(self, stream: int, to: int, from_: int, number: int = 1) -> None:
        """Launch a kernel that stores the sum of the 32 bits at `from_` and `number` at `to`."""
        addresses = ctypes.c_uint64(to), ctypes.c_uint64(from_)
        self._launch(self._add, stream, *addresses, ctypes.c_uint32(number))

    def _launch(self, function: ctypes.c_void_p, stream: int, *arguments: Any) -> None:
        """Launch one thread of a function. The arguments are read before this returns."""
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        one_thread = [ctypes.c_uint(1)] * 6
        no_shared_memory, nothing_more = ctypes.c_uint(0), ctypes.c_void_p()
        on = ctypes.c_void_p(stream)
        with self._library.current(self._context):
            self._library.call(
                "cuLaunchKernel", function, *one_thread, no_shared_memory, on, pointers, nothing_more
            )
