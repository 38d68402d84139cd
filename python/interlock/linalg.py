"""Linear algebra under the names of `torch.linalg`: factorizations, systems of equations and determinants.

A build without the tensor runtime lacks this module.

Matrices are the last two dimensions of a float32 or float64 tensor; the dimensions before them are a batch.
All functions have gradients. On the CPU the LAPACK of MKL or OpenBLAS computes, if the first call finds one
(the wheels of numpy and scipy bring OpenBLAS), else interlock's own kernels, as on host devices. All
compute in float64, and round the results of float32 once. `backends.cuda.preferred_linalg_library` orders
the kernels of devices, and `dispatch.explain` shows the choice.

Example:
    >>> import interlock
    >>> A = interlock.tensor([[4.0, 2.0], [2.0, 5.0]])
    >>> interlock.linalg.cholesky(A)
    tensor([[2., 0.],
            [1., 2.]])
    >>> interlock.dispatch.explain("cholesky", A).kernel in ("mkl", "openblas", "native")
    True

"""

from __future__ import annotations

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.tensor import (
    cholesky,
    cholesky_ex,
    det,
    eigh,
    eigvalsh,
    inv,
    inv_ex,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    qr,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    svd,
    svdvals,
)
from interlock._lazy import list_exports
from interlock.errors import LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
]

list_exports(globals())
