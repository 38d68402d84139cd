"""The libraries of linear algebra, matrix products and attention, and their workspaces."""

from __future__ import annotations

import enum
from typing import Literal

from interlock._core import backends as _native
from interlock.errors import FlagValueError


class NumberedEnum(enum.Enum):
    """An enum whose members have PyTorch's numbers: `int(member)` gives it, and no member equals a number."""

    def __int__(self) -> int:
        number: int = self.value
        return number

    __index__ = __int__


class _LinalgBackend(NumberedEnum):
    """A library of linear algebra on cuda, with PyTorch's numbers."""

    Default = 0
    """Whichever is thought faster."""
    Cusolver = 1
    Magma = 2


class _BlasBackend(NumberedEnum):
    """A library of matrix products on cuda, with PyTorch's numbers."""

    Default = 0
    """cuBLAS."""
    Cublas = 1
    """cuBLAS; on ROCm hipBLAS."""
    Cublaslt = 2
    """cuBLASLt; on ROCm hipBLASLt."""
    Ck = 3
    """Composable Kernel, on ROCm."""


class _ROCmFABackend(NumberedEnum):
    """A library of flash attention on ROCm, with PyTorch's numbers."""

    Default = 0
    """Whichever is thought faster."""
    AOTriton = 1
    Ck = 2
    """Composable Kernel."""


def name_of(kind: type[NumberedEnum], backend: object) -> object:
    """Return the name that a flag has for a member of `kind`; what else is given is the flag's to judge."""
    return backend.name.lower() if isinstance(backend, kind) else backend


_LINALG = {member.name.lower(): member for member in _LinalgBackend}
_BLAS = {member.name.lower(): member for member in _BlasBackend} | {"default": _BlasBackend.Cublas}
_ROCM_FA = {member.name.lower(): member for member in _ROCmFABackend}


def preferred_linalg_library(
    backend: Literal["default", "cusolver", "magma"] | _LinalgBackend | None = None,
) -> _LinalgBackend:
    """Say which library serves linear algebra on cuda, if one is given, and return the one in force.

    It is the flag `cuda.linalg_library`. Raises `FlagValueError` for another name or a number,
    `FlagTypeError` for another type, `FlagsFrozenError` while flags are frozen.
    """
    if backend is not None:
        _native.assign({"cuda.linalg_library": name_of(_LinalgBackend, backend)})
    return _LINALG[_native.read("cuda.linalg_library")]


def preferred_blas_library(
    backend: Literal["default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"]
    | _BlasBackend
    | None = None,
) -> _BlasBackend:
    """Say which library serves matrix products on cuda, if one is given, and return the one in force.

    It is the flag `cuda.blas_library`, whose default is cuBLAS: `_BlasBackend.Default` is never returned.
    Raises `FlagValueError` for another name or a number, `FlagTypeError` for another type,
    `FlagsFrozenError` while flags are frozen.
    """
    if backend is not None:
        _native.assign({"cuda.blas_library": name_of(_BlasBackend, backend)})
    return _BLAS[_native.read("cuda.blas_library")]


def preferred_rocm_fa_library(
    backend: Literal["default", "aotriton", "ck"] | _ROCmFABackend | None = None,
) -> _ROCmFABackend:
    """Say which library serves flash attention on ROCm, if one is given, and return the one in force.

    It is the flag `cuda.rocm_fa_library`. Raises `FlagValueError` for another name or a number,
    `FlagTypeError` for another type, `FlagsFrozenError` while flags are frozen.
    """
    if backend is not None:
        _native.assign({"cuda.rocm_fa_library": name_of(_ROCmFABackend, backend)})
    return _ROCM_FA[_native.read("cuda.rocm_fa_library")]


def cublas_workspace_size(size: int | None = None) -> int:
    """Say how many bytes cuBLAS gets for each stream, if a size is given, and return the number in force.

    It is the flag `cuda.cublas_workspace`. Raises `FlagValueError` for a negative number, `FlagTypeError`
    for what is no int, `FlagsFrozenError` while flags are frozen.
    """
    return _workspace("cuda.cublas_workspace", size)


def cublaslt_workspace_size(size: int | None = None) -> int:
    """Say how many bytes cuBLASLt gets for each stream, if a size is given, and return the number in force.

    It is the flag `cuda.cublaslt_workspace`. Raises `FlagValueError` for a negative number, `FlagTypeError`
    for what is no int, `FlagsFrozenError` while flags are frozen.
    """
    return _workspace("cuda.cublaslt_workspace", size)


def blas_workspace_size(
    size: int | None = None,
    backend: Literal["default", "cublas", "hipblas", "cublaslt", "hipblaslt", "ck"]
    | _BlasBackend
    | None = None,
) -> int:
    """Do what `cublas_workspace_size` or `cublaslt_workspace_size` does, whichever library is meant.

    That is `backend`, or the one that `preferred_blas_library` returns where it is not given; `"default"`
    is cuBLAS. Raises `FlagValueError` where that library is Composable Kernel, which gets no such memory.
    """
    library = _resolve_backend(backend)
    if library is _BlasBackend.Ck:
        allowed = "takes 'cublas' or 'cublaslt'"
        how = "preferred" if backend is None else "given"
        raise FlagValueError(
            f"blas_workspace_size {allowed}; the library {how} is ck, which has no workspace"
        )
    return (cublaslt_workspace_size if library is _BlasBackend.Cublaslt else cublas_workspace_size)(size)


def _workspace(flag: str, size: int | None) -> int:
    if size is not None:
        _native.assign({flag: size})
    return int(_native.read(flag))


def _resolve_backend(backend: object) -> _BlasBackend:
    if backend is None:
        return preferred_blas_library()
    # The scope refuses what the flag would refuse, knows the other names, and writes nothing.
    with _native.FlagScope({"cuda.blas_library": name_of(_BlasBackend, backend)}):
        return preferred_blas_library()
