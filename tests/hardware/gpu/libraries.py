"""PyTorch and CuPy behind the same names, so that one test serves both."""

from __future__ import annotations

import importlib
import warnings
from abc import ABC, abstractmethod
from typing import Any

import pytest


def imported(name: str) -> Any:
    """Import a package that may not be installed; then the test is skipped."""
    try:
        # Ignore warnings of the import, which do not concern interlock.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} can't be imported: {error}")


class Library(ABC):
    """A library for NVIDIA's devices, used with arrays of bytes."""

    @abstractmethod
    def from_dlpack(self, shared: object) -> Any:
        """Import memory through DLPack."""

    @abstractmethod
    def from_interface(self, shared: object) -> Any:
        """Import memory through `__cuda_array_interface__`."""

    @abstractmethod
    def address(self, array: Any) -> int:
        """Return the address of an array."""

    @abstractmethod
    def fill(self, array: Any, number: int) -> None:
        """Set every byte, in the order of the current stream of the library."""

    @abstractmethod
    def content(self, array: Any) -> bytes:
        """Return the bytes, in the order of the current stream of the library."""

    @abstractmethod
    def array(self, content: bytes) -> Any:
        """Return an array allocated by the library."""

    @abstractmethod
    def stream(self) -> Any:
        """Return a new stream that does not wait for the default one."""

    @abstractmethod
    def handle(self, stream: Any) -> int:
        """Return the `CUstream` of a stream."""

    @abstractmethod
    def external(self, handle: int) -> Any:
        """Return a context manager that makes the stream of a handle current."""

    @abstractmethod
    def is_done(self, stream: Any) -> bool:
        """Return whether the queued work of a stream has completed."""


class PyTorch(Library):
    """PyTorch."""

    def __init__(self) -> None:
        self.torch = imported("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this PyTorch finds no GPU")

    def from_dlpack(self, shared: object) -> Any:
        return self.torch.from_dlpack(shared)

    def from_interface(self, shared: object) -> Any:
        return self.torch.as_tensor(shared, device="cuda")

    def address(self, array: Any) -> int:
        address: int = array.data_ptr()
        return address

    def fill(self, array: Any, number: int) -> None:
        array.fill_(number)

    def content(self, array: Any) -> bytes:
        return bytes(array.cpu().tolist())

    def array(self, content: bytes) -> Any:
        return self.torch.tensor(list(content), dtype=self.torch.uint8, device="cuda")

    def stream(self) -> Any:
        return self.torch.cuda.Stream()

    def handle(self, stream: Any) -> int:
        handle: int = stream.cuda_stream
        return handle

    def external(self, handle: int) -> Any:
        return self.torch.cuda.stream(self.torch.cuda.ExternalStream(handle))

    def is_done(self, stream: Any) -> bool:
        done: bool = stream.query()
        return done


class CuPy(Library):
    """CuPy."""

    def __init__(self) -> None:
        self.cupy = imported("cupy")
        if not self.cupy.cuda.is_available():
            pytest.skip("this CuPy finds no GPU")

    def from_dlpack(self, shared: object) -> Any:
        return self.cupy.from_dlpack(shared)

    def from_interface(self, shared: object) -> Any:
        return self.cupy.asarray(shared)

    def address(self, array: Any) -> int:
        address: int = array.data.ptr
        return address

    def fill(self, array: Any, number: int) -> None:
        array.fill(number)

    def content(self, array: Any) -> bytes:
        content: bytes = array.get().tobytes()
        return content

    def array(self, content: bytes) -> Any:
        return self.cupy.array(list(content), dtype="uint8")

    def stream(self) -> Any:
        return self.cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream: Any) -> int:
        handle: int = stream.ptr
        return handle

    def external(self, handle: int) -> Any:
        # Since CuPy 14; before, the class has no such function.
        if hasattr(self.cupy.cuda.Stream, "from_external"):
            return self.cupy.cuda.Stream.from_external(StreamHandle(handle))
        return self.cupy.cuda.ExternalStream(handle)

    def is_done(self, stream: Any) -> bool:
        done: bool = stream.done
        return done


class StreamHandle:
    """A stream by its handle, for libraries whose class lacks `__cuda_stream__`."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle
