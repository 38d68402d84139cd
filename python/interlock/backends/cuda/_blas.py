"""Preferred libraries of linear algebra, matrix products and attention, and cuBLAS workspace sizes."""

from __future__ import annotations

from typing import Literal

from interlock._core import backends as _native
from interlock._quoting_enum import QuotingEnum
from interlock.errors import FlagValueError


class NumberedEnum(QuotingEnum):
    """An enum with PyTorch's numbers. `int(member)` returns the number; a member does not equal it."""

    def __int__(self) -> int:
        number: int = self.value
        return number

    __index__ = __int__


class _LinalgBackend(NumberedEnum):
    """The libraries of linear algebra on cuda, with PyTorch's numbers."""

    Default = 0
    """The library that is expected to be faster."""
    Cusolver = 1
    Magma = 2


class _BlasBackend(NumberedEnum):
    """The libraries of matrix products on cuda, with PyTorch's numbers."""

    Default = 0
    """cuBLAS."""
    Cublas = 1
    """cuBLAS; on ROCm hipBLAS."""
    Cublaslt = 2
    """cuBLASLt; on ROCm hipBLASLt."""
    Ck = 3
    """Composable Kernel, on ROCm."""


class _ROCmFABackend(NumberedEnum):
    """The libraries of flash attention on ROCm, with PyTorch's numbers."""

    Default = 0
    """The library that is expected to be faster."""
    AOTriton = 1
    Ck = 2
    """Composable Kernel."""


def name_of(kind: type[NumberedEnum], backend: object) -> object:
    """Return the flag value of a member of `kind`; other objects are returned unchanged."""
    return backend.name.lower() if isinstance(backend, kind) else backend


_LINALG = {member.name.lower(): member for member in _LinalgBackend}
_BLAS = {member.name.lower(): member for member in _BlasBackend} | {"default": _BlasBackend.Cublas}
_ROCM_FA = {member.name.lower(): member for member in _ROCmFABackend}


def preferred_linalg_library(
    backend: Literal["default", "cusolver", "magma"] | _LinalgBackend | None = None,
) -> _LinalgBackend:
    """Return the preferred library of linear algebra on cuda, after setting it if one is given.

    Reads and assigns the flag `cuda.linalg_library`.

    Args:
        backend: The library; None does not change it.

    Raises:
        FlagTypeError: The argument has the wrong type.
        FlagValueError: The argument is not a known library.
        FlagsFrozenError: Flags are frozen.

    """
    if backend is not None:
        _native.assign({"cuda.linalg_library": name_of(_LinalgBackend, backend)})
    return _LINALG[_native.read("cuda.linalg_library")]


def preferred_blas_library(
    backend: Literal["default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"]
    | _BlasBackend
    | None = None,
) -> _BlasBackend:
    """Return the preferred library of matrix products on cuda, after setting it if one is given.

    Reads and assigns the flag `cuda.blas_library`. `_BlasBackend.Default` means cuBLAS and is never returned.

    Args:
        backend: The library; None does not change it.

    Raises:
        FlagTypeError: The argument has the wrong type.
        FlagValueError: The argument is not a known library.
        FlagsFrozenError: Flags are frozen.

    """
    if backend is not None:
        _native.assign({"cuda.blas_library": name_of(_BlasBackend, backend)})
    return _BLAS[_native.read("cuda.blas_library")]


def preferred_rocm_fa_library(
    backend: Literal["default", "aotriton", "ck"] | _ROCmFABackend | None = None,
) -> _ROCmFABackend:
    """Return the preferred library of flash attention on ROCm, after setting it if one is given.

    Reads and assigns the flag `cuda.rocm_fa_library`.

    Args:
        backend: The library; None does not change it.

    Raises:
        FlagTypeError: The argument has the wrong type.
        FlagValueError: The argument is not a known library.
        FlagsFrozenError: Flags are frozen.

    """
    if backend is not None:
        _native.assign({"cuda.rocm_fa_library": name_of(_ROCmFABackend, backend)})
    return _ROCM_FA[_native.read("cuda.rocm_fa_library")]


def cublas_workspace_size(size: int | None = None) -> int:
    """Return the size of the cuBLAS workspace of each stream in bytes, after setting it if one is given.

    Reads and assigns the flag `cuda.cublas_workspace`.

    Args:
        size: The size in bytes; None does not change it.

    Raises:
        FlagTypeError: `size` is not an int.
        FlagValueError: `size` is negative.
        FlagsFrozenError: Flags are frozen.

    """
    return _workspace("cuda.cublas_workspace", size)


def cublaslt_workspace_size(size: int | None = None) -> int:
    """Return the size of the cuBLASLt workspace of each stream in bytes, after setting it if one is given.

    Reads and assigns the flag `cuda.cublaslt_workspace`.

    Args:
        size: The size in bytes; None does not change it.

    Raises:
        FlagTypeError: `size` is not an int.
        FlagValueError: `size` is negative.
        FlagsFrozenError: Flags are frozen.

    """
    return _workspace("cuda.cublaslt_workspace", size)


def blas_workspace_size(
    size: int | None = None,
    backend: Literal["default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"]
    | _BlasBackend
    | None = None,
) -> int:
    """Call `cublas_workspace_size` or `cublaslt_workspace_size`, depending on the library.

    Args:
        size: The size in bytes; None does not change it.
        backend: The library; None means the one that `preferred_blas_library` returns.

    Raises:
        FlagTypeError: An argument has the wrong type.
        FlagValueError: `size` is negative, or the library is Composable Kernel, which has no workspace.
        FlagsFrozenError: Flags are frozen.

    """
    library = _resolve_backend(backend)
    if library is _BlasBackend.Ck:
        origin = "preferred" if backend is None else "given"
        raise FlagValueError(
            "blas_workspace_size: backend must be 'cublas' or 'cublaslt'; "
            f"the {origin} library ck has no workspace"
        )
    return (cublaslt_workspace_size if library is _BlasBackend.Cublaslt else cublas_workspace_size)(size)


def _workspace(flag: str, size: int | None) -> int:
    if size is not None:
        _native.assign({flag: size})
    return int(_native.read(flag))


def _resolve_backend(backend: object) -> _BlasBackend:
    if backend is None:
        return preferred_blas_library()
    # A scope validates the value and resolves aliases without assigning the flag.
    with _native.FlagScope({"cuda.blas_library": name_of(_BlasBackend, backend)}):
        return preferred_blas_library()
