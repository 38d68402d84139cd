"""How much working memory the libraries of matrix products get for each stream."""

from __future__ import annotations

from typing import Literal

from interlock._core import backends as _native
from interlock.backends.cuda._libraries import _BlasBackend, name_of, preferred_blas_library
from interlock.errors import FlagValueError


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
    library = _meant(backend)
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


def _meant(backend: object) -> _BlasBackend:
    if backend is None:
        return preferred_blas_library()
    # The scope refuses what the flag would refuse, knows the other names, and writes nothing.
    with _native.FlagScope({"cuda.blas_library": name_of(_BlasBackend, backend)}):
        return preferred_blas_library()
