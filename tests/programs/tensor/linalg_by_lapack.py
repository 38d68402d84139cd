"""Linear algebra by the LAPACK of MKL or OpenBLAS, where the variables of both or the search find one."""

import threading

import interlock
from interlock import dispatch, linalg

OPERATIONS = ("cholesky", "lu_factor", "solve_triangular", "qr", "eigh", "svd")


def matrix(*shape, dtype=interlock.float64):
    """Return matrices, whose square ones are invertible and have different singular values."""
    count = 1
    for size in shape:
        count *= size
    numbers = [(7 * k * k + 3 * k) % 101 / 10 - 5.0 for k in range(count)]
    found = interlock.tensor(numbers, dtype=interlock.float64).reshape(shape)
    return (found + 3 * interlock.eye(*shape[-2:], dtype=interlock.float64)).to(dtype)


def gradient_of(function, *shape):
    leaf = matrix(*shape).requires_grad_()
    function(leaf).backward()
    return leaf.grad


def all_results():
    """Return results of matrices that are large enough for a library."""
    a, wide, batch = matrix(40, 40), matrix(36, 40), matrix(2, 3, 36, 36)
    triangular = matrix(12, 12) / 20 + interlock.eye(12)
    symmetric = matrix(12, 12) @ matrix(12, 12).t()
    u, values, vh = linalg.svd(matrix(8, 12))
    q, r = linalg.qr(matrix(36, 3), mode="complete")
    eigenvalues, vectors = linalg.eigh(symmetric)
    return [
        linalg.cholesky(symmetric),
        linalg.cholesky(symmetric, upper=True),
        *linalg.lu(matrix(40, 4)),
        *linalg.lu(wide),
        linalg.inv(batch),
        linalg.det(batch.float()),
        linalg.solve(a, matrix(40, 2)),
        linalg.solve(a, matrix(3, 40), left=False),
        *(
            linalg.solve_triangular(triangular, b, upper=upper, left=left, unitriangular=unit)
            for left, b in ((True, matrix(12, 2)), (False, matrix(2, 12)))
            for upper in (False, True)
            for unit in (False, True)
        ),
        q,
        r,
        linalg.qr(wide, mode="r").R,
        eigenvalues,
        vectors * eigenvalues @ vectors.t(),
        linalg.eigvalsh(symmetric, UPLO="U"),
        values,
        u * values @ vh[:8],
        u.t() @ u,
        vh @ vh.t(),
        linalg.svdvals(batch),
        gradient_of(linalg.det, 36, 36),
        gradient_of(lambda leaf: linalg.eigh(leaf + leaf.t()).eigenvectors.abs().sum(), 4, 4),
        gradient_of(lambda leaf: linalg.svd(leaf, full_matrices=False).U.abs().sum(), 10, 8),
        gradient_of(lambda leaf: linalg.qr(leaf).Q.sum(), 36, 12),
    ]


def results():
    """Return results of every factorization, and the kernels that computed them."""
    with dispatch.record() as calls:
        found = all_results()
    kernels = {call.kernel for call in calls if call.operation in OPERATIONS}
    return {"kernels": sorted(kernels), "results": [each.flatten().tolist() for each in found]}


def failures():
    """Return what is found of matrices that have no factors, or elements that are no numbers."""
    nan, negative, singular = interlock.eye(12), interlock.eye(12), interlock.eye(36)
    nan[1, 1], negative[0, 0], singular[1, 1] = float("nan"), -1, 0
    return {
        "cholesky": linalg.cholesky_ex(negative).info.item(),
        "cholesky of nan": linalg.cholesky_ex(nan).info.item(),
        "lu": linalg.lu_factor_ex(singular).info.item(),
        "eigenvalues are nan": interlock.isnan(linalg.eigvalsh(nan)).all().item(),
        "empty": linalg.svdvals(interlock.zeros(2, 0, 3)).tolist(),
    }


def reasons():
    """Return the kernel of a factorization, and why each other one does not compute it."""
    call = dispatch.explain("cholesky", interlock.eye(12))
    return {"kernel": call.kernel, "text": str(call)}


def least_sizes():
    """Return the kernels of each factorization from the least size of a library on and below it, and why."""

    def call(operation, size):
        a = matrix(size, size)
        if operation == "solve_triangular":
            return dispatch.explain(operation, a, a, upper=True)
        return dispatch.explain(operation, a)

    found = {}
    for operation, least in zip(OPERATIONS, (12, 36, 12, 32, 4, 8), strict=True):
        small, large = call(operation, least - 1), call(operation, least)
        refusals = {considered.kernel: considered.reason for considered in small.considered}
        found[operation] = [large.kernel, small.kernel, str(refusals[large.kernel])]
    return found


def same(found, expected):
    return all(interlock.equal(a, b) for a, b in zip(found, expected, strict=True))


def forked():
    """Return the exit code of a forked child, 0 if it finds what its parent has found."""
    import os

    expected = linalg.svd(matrix(4, 20, 20))
    child = os.fork()
    if child == 0:
        is_same = False
        try:
            is_same = same(linalg.svd(matrix(4, 20, 20)), expected)
        finally:
            os._exit(0 if is_same else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def on_threads():
    """Return whether threads of the program, and more threads of operations, find the same bits."""
    interlock.set_num_threads(1)
    expected = linalg.eigh(matrix(6, 20, 20))
    interlock.set_num_threads(4)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(same(linalg.eigh(matrix(6, 20, 20)), expected)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
