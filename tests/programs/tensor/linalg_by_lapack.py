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
    a, wide, batch = matrix(5, 5), matrix(3, 7), matrix(2, 3, 4, 4)
    symmetric = a @ a.t()
    u, values, vh = linalg.svd(wide)
    q, r = linalg.qr(matrix(7, 3), mode="complete")
    eigenvalues, vectors = linalg.eigh(symmetric)
    return [
        linalg.cholesky(symmetric),
        linalg.cholesky(symmetric, upper=True),
        *linalg.lu(matrix(6, 4)),
        *linalg.lu(wide),
        linalg.inv(batch),
        linalg.det(batch.float()),
        linalg.solve(a, matrix(5, 2)),
        linalg.solve(a, matrix(3, 5), left=False),
        *(
            linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
            for left, b in ((True, matrix(5, 2)), (False, matrix(2, 5)))
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
        u * values @ vh[:3],
        u.t() @ u,
        vh @ vh.t(),
        linalg.svdvals(batch),
        gradient_of(linalg.det, 4, 4),
        gradient_of(lambda leaf: linalg.eigh(leaf + leaf.t()).eigenvectors.abs().sum(), 4, 4),
        gradient_of(lambda leaf: linalg.svd(leaf, full_matrices=False).U.abs().sum(), 5, 3),
        gradient_of(lambda leaf: linalg.qr(leaf).Q.sum(), 5, 3),
    ]


def results():
    """Return results of every factorization, and the kernels that computed them."""
    with dispatch.record() as calls:
        found = all_results()
    kernels = {call.kernel for call in calls if call.operation in OPERATIONS}
    return {"kernels": sorted(kernels), "results": [each.flatten().tolist() for each in found]}


def failures():
    """Return what is found of matrices that have no factors, or elements that are no numbers."""
    nan = 3 * interlock.eye(3)
    nan[1, 1] = float("nan")
    singular = interlock.tensor([[1.0, 2.0], [2.0, 4.0]])
    return {
        "cholesky": linalg.cholesky_ex(singular - 2 * interlock.eye(2)).info.item(),
        "cholesky of nan": linalg.cholesky_ex(nan).info.item(),
        "lu": linalg.lu_factor_ex(singular).info.item(),
        "eigenvalues are nan": interlock.isnan(linalg.eigvalsh(nan)).all().item(),
        "empty": linalg.svdvals(interlock.zeros(2, 0, 3)).tolist(),
    }


def reasons():
    """Return the kernel of a factorization, and why each other one does not compute it."""
    call = dispatch.explain("cholesky", interlock.eye(2))
    return {"kernel": call.kernel, "text": str(call)}


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
