"""`interlock.linalg`: results beside NumPy's, batches, layouts, gradients, errors, kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import numpy.typing as npt
import pytest
from interlock import Tensor, backends, dispatch, float32, float64, linalg
from interlock.backends.cuda import preferred_linalg_library
from interlock.errors import ArgumentError, DTypeError, LinAlgError, ShapeError

from tests.unit.tensor.same_bits import assert_same_bits

Array = npt.NDArray[np.float64]
BATCHES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0,))
SHAPES = ((1, 1), (4, 4), (5, 3), (3, 5), (0, 2), (2, 0))
DTYPES = {"float32": (float32, 2e-5), "float64": (float64, 1e-12)}
# The kernels of the CPU, of which a library that is found is the first.
ON_CPU = ("mkl", "openblas", "native")


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).uniform(-1.0, 1.0, shape)


def symmetric(*shape: int) -> Array:
    """Return positive-definite matrices."""
    made = random(*shape)
    result: Array = made @ made.swapaxes(-1, -2) + np.eye(shape[-1])
    return result


def close(found: Tensor, expected: Any, within: float) -> bool:
    return tuple(found.shape) == np.shape(expected) and np.allclose(
        found.double().numpy(), expected, rtol=within, atol=within * 10
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_square_matrices_have_numpys_results(batch: tuple[int, ...], dtype: str) -> None:
    kind, within = DTYPES[dtype]
    for size in (0, 1, 2, 6):
        a = symmetric(*batch, size, size)
        x = interlock.tensor(a, dtype=kind)
        lower = np.linalg.cholesky(a)
        assert close(linalg.cholesky(x), lower, within)
        assert close(linalg.cholesky(x, upper=True), lower.swapaxes(-1, -2), within)
        assert close(linalg.inv(x), np.linalg.inv(a), within)
        assert close(linalg.det(x), np.linalg.det(a), within)
        for found, expected in zip(linalg.slogdet(-x), np.linalg.slogdet(-a), strict=True):
            assert close(found, expected, within)
        assert close(linalg.eigvalsh(x), np.linalg.eigvalsh(a), within)
        assert close(interlock.cholesky_inverse(linalg.cholesky(x)), np.linalg.inv(a), within)
        sides = random(*batch, size, 2)
        expected = np.linalg.solve(a, sides)
        b = interlock.tensor(sides, dtype=kind)
        assert close(linalg.solve(x, b), expected, within)
        assert close(linalg.solve(x, b.mT, left=False), expected.swapaxes(-1, -2), within)
        assert close(interlock.cholesky_solve(b, linalg.cholesky(x)), expected, within)
        factors, pivots = linalg.lu_factor(x)
        assert pivots.dtype == interlock.int32
        assert close(linalg.lu_solve(factors, pivots, b), expected, within)
        assert close(linalg.lu_solve(factors, pivots, b, adjoint=True), expected, within)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_of_matrices_multiply_to_them(
    shape: tuple[int, int], batch: tuple[int, ...], dtype: str
) -> None:
    kind, within = DTYPES[dtype]
    a = random(*batch, *shape)
    x = interlock.tensor(a, dtype=kind)
    eye = np.eye(shape[0])
    permutation, lower, upper = linalg.lu(x)
    assert close(permutation @ lower @ upper, a, within)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(x, mode)
        assert close(q @ r, a, within)
        assert close(q.mT @ q, np.broadcast_to(np.eye(q.shape[-1]), q.mT.shape[:-1] + q.shape[-1:]), within)
        assert (r.tril(-1) == 0).all()
    assert close(q @ q.mT, np.broadcast_to(eye, (*batch, *eye.shape)), within)
    assert close(linalg.qr(x, "r").R, linalg.qr(x).R.double().numpy(), within)
    for full in (True, False):
        u, values, vh = linalg.svd(x, full)
        least = min(shape)
        assert close(u[..., :least] * values.unsqueeze(-2) @ vh[..., :least, :], a, within)
        assert u.shape[-1] == (shape[0] if full else least)
        assert vh.shape[-2] == (shape[1] if full else least)
        assert close(u.mT @ u, np.broadcast_to(np.eye(u.shape[-1]), (*batch, *2 * u.shape[-1:])), within)
        assert close(
            vh @ vh.mT, np.broadcast_to(np.eye(vh.shape[-2]), (*batch, *2 * vh.shape[-2:-1])), within
        )
    assert close(linalg.svdvals(x), np.linalg.svd(a, compute_uv=False), within)


@pytest.mark.usefixtures("num_threads_restored")
def test_factors_have_equal_bits_for_every_number_of_threads() -> None:
    # Too narrow for a library, and enough for several threads.
    batch = interlock.tensor(random(800, 7, 7))
    assert_same_bits(lambda: interlock.cat([part.flatten() for part in linalg.svd(batch)]))


COLUMN = random(8)


@pytest.mark.parametrize(
    "a",
    [
        pytest.param(np.zeros((4, 3)), id="zeros"),
        pytest.param(np.ones((5, 4)), id="ones"),
        pytest.param(np.outer(COLUMN, COLUMN[:4]), id="rank 1"),
        pytest.param(np.array([[1e300, 2e300], [3e300, -4e300]]), id="squares overflow"),
        pytest.param(np.array([[1e-300, 2e-300], [3e-300, -4e-300]]), id="squares underflow"),
        pytest.param(np.array([[1.0, 0.0], [0.0, 1e-200], [0.0, 1e-201]]), id="a square underflows"),
    ],
)
def test_singular_vectors_of_extreme_matrices_are_orthonormal(a: Array) -> None:
    u, values, vh = (np.asarray(each) for each in linalg.svd(interlock.tensor(a)))
    np.testing.assert_allclose(u.T @ u, np.eye(len(a)), atol=1e-12)
    np.testing.assert_allclose(vh @ vh.T, np.eye(len(vh)), atol=1e-12)
    again = u[:, : len(values)] @ (values[:, None] * vh)
    np.testing.assert_allclose(again, a, atol=1e-12 * np.abs(a).max())


def test_one_triangle_is_read() -> None:
    a = interlock.tensor(symmetric(3, 3))
    nines = interlock.full((3, 3), 9.0, dtype=float64)
    lower, upper = a.tril() + nines.triu(1), a.triu() + nines.tril(-1)
    assert linalg.cholesky(lower).equal(linalg.cholesky(a))
    assert linalg.cholesky(upper, upper=True).equal(linalg.cholesky(a, upper=True))
    for uplo in ("L", "l", "U", "u"):
        assert linalg.eigvalsh(lower if uplo in "Ll" else upper, uplo).equal(linalg.eigvalsh(a))


def test_unit_triangular_systems_do_not_read_the_diagonal() -> None:
    a = interlock.tensor([[math.nan, 0.0], [2.0, math.nan]])
    b = interlock.tensor([[1.0], [5.0]])
    found = linalg.solve_triangular(a, b, upper=False, unitriangular=True)
    assert found.tolist() == [[1.0], [3.0]]
    right = linalg.solve_triangular(a.mT, b.mT, upper=True, left=False, unitriangular=True)
    assert right.tolist() == [[1.0, 3.0]]


def test_vectors_and_batches_are_broadcast() -> None:
    a, b = interlock.tensor(symmetric(4, 1, 3, 3)), interlock.tensor(random(2, 3, 2))
    assert linalg.solve(a, b).shape == (4, 2, 3, 2)
    assert linalg.solve_triangular(a, b, upper=True).shape == (4, 2, 3, 2)
    assert interlock.cholesky_solve(b, a).shape == (4, 2, 3, 2)
    # A matrix with the shape of the batch of rows is a batch of vectors, as in PyTorch.
    square = interlock.tensor(symmetric(3, 3, 3))
    assert linalg.solve(square, interlock.ones(3, 3, dtype=float64)).shape == (3, 3)
    assert linalg.inv(square).shape == (3, 3, 3)


def test_layouts_of_operands_do_not_matter() -> None:
    a = interlock.tensor(symmetric(2, 3, 3))
    turned = a.mT.contiguous().mT
    every_other = interlock.stack([a, a], -1)[..., 0]
    for given in (turned, every_other, a.expand(2, 3, 3)):
        assert linalg.inv(given).equal(linalg.inv(a))
        assert linalg.svd(given).U.equal(linalg.svd(a).U)


REPEATED: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    "eigh": (lambda x: linalg.eigh(x).eigenvectors, False),
    "svd": (lambda x: linalg.svd(x).U, False),
    "eigvalsh": (linalg.eigvalsh, True),
    "svdvals": (linalg.svdvals, True),
}


@pytest.mark.parametrize("name", REPEATED)
def test_vectors_of_repeated_values_have_no_gradient_but_values_have(name: str) -> None:
    function, is_finite = REPEATED[name]
    x = interlock.eye(2, dtype=float64).requires_grad_()
    function(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all().item() is is_finite
    if is_finite:
        assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_gradients_of_batches_are_those_of_the_matrices() -> None:
    a = interlock.tensor(symmetric(3, 4, 4), requires_grad=True)
    functions: tuple[Callable[[Tensor], Tensor], ...] = (
        linalg.cholesky,
        linalg.inv,
        linalg.det,
        lambda x: linalg.slogdet(x).logabsdet,
        lambda x: linalg.qr(x).R,
        lambda x: linalg.eigh(x).eigenvectors ** 2,
        lambda x: linalg.lu(x).L,
        linalg.svdvals,
    )
    for function in functions:
        (found,) = interlock.autograd.grad(function(a).sum(), (a,))
        for number in range(3):
            one = a.detach()[number].requires_grad_()
            (expected,) = interlock.autograd.grad(function(one).sum(), (one,))
            assert close(found[number], expected.numpy(), 1e-12)


def test_determinant_of_a_singular_matrix_has_a_gradient() -> None:
    x = interlock.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]], requires_grad=True)
    linalg.det(x).sum().backward()
    assert x.grad is not None
    assert close(x.grad, [[[4.0, -2.0], [-2.0, 1.0]], [[3.0, 0.0], [0.0, 1.0]]], 1e-6)


def test_qr_without_a_gradient_says_so() -> None:
    x = interlock.tensor(random(3, 2), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^qr: the operation has no gradient; .*mode='reduced'"):
        linalg.qr(x, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match=r"^qr: the operation has no gradient; .*mode='reduced'"):
        linalg.qr(x, "complete").R.sum().backward()


SINGULAR = interlock.stack([interlock.eye(2), interlock.tensor([[1.0, 2.0], [2.0, 4.0]])])


def test_singular_matrices_are_reported_with_their_position() -> None:
    message = r"must be invertible, got a singular matrix, whose pivot 2 is 0 \(batch element 1\)$"
    for name in ("inv", "lu_factor"):
        with pytest.raises(LinAlgError, match=f"^{name}: A {message}"):
            getattr(linalg, name)(SINGULAR)
    with pytest.raises(LinAlgError, match=f"^solve: A {message}"):
        linalg.solve(SINGULAR, SINGULAR)
    with pytest.raises(linalg.LinAlgError, match=r"got a singular matrix, whose pivot 1 is 0$"):
        linalg.inv(interlock.zeros(2, 2))
    minor = r"whose leading minor of order 2 is not positive \(batch element 1\)$"
    with pytest.raises(
        LinAlgError, match=rf"^cholesky: input must be positive-definite, got a matrix {minor}"
    ):
        linalg.cholesky(SINGULAR)
    with pytest.raises(LinAlgError, match=r"^svd: A must be finite, got an infinite or NaN element$"):
        linalg.svd(interlock.tensor([[math.nan]]))


def test_ex_forms_return_info() -> None:
    for name in ("inv_ex", "lu_factor_ex", "cholesky_ex"):
        function = getattr(linalg, name)
        info = function(SINGULAR).info
        assert (info.dtype, info.tolist()) == (interlock.int32, [0, 2])
        with pytest.raises(LinAlgError, match=f"^{name}: "):
            function(SINGULAR, check_errors=True)
    assert linalg.solve_ex(SINGULAR, SINGULAR).info.tolist() == [0, 2]
    with pytest.raises(LinAlgError, match=r"^solve_ex: "):
        linalg.solve_ex(SINGULAR, SINGULAR, check_errors=True)
    assert linalg.lu(SINGULAR).U[1].tolist() == [[2.0, 4.0], [0.0, 0.0]]
    assert linalg.slogdet(SINGULAR).logabsdet.tolist() == [0.0, -math.inf]


def test_elements_that_are_not_finite() -> None:
    nan = interlock.full((2, 2), math.nan)
    assert linalg.eigvalsh(nan).isnan().all()
    assert linalg.eigh(nan).eigenvectors.isnan().all()
    assert linalg.det(nan).isnan()
    assert linalg.eigh(interlock.tensor([[math.inf]])).eigenvectors.isnan().all()
    assert linalg.inv(nan).isnan().all()
    assert linalg.cholesky_ex(nan).info.item() == 1


def test_wrong_operands_are_refused() -> None:
    square, wide = interlock.ones(2, 2), interlock.ones(2, 3)
    of_squares: list[Callable[[Tensor], object]] = [linalg.cholesky, linalg.inv, linalg.det, linalg.eigh]
    for function in of_squares:
        with pytest.raises(ShapeError, match="must be a square matrix or a batch of them"):
            function(wide)
    of_any: list[Callable[[Tensor], object]] = [linalg.inv, linalg.lu_factor, linalg.qr, linalg.svdvals]
    for function in of_any:
        with pytest.raises(ShapeError, match="A must have at least 2 dimensions"):
            function(interlock.ones(3))
        for dtype in (interlock.float16, interlock.bfloat16, interlock.int64, interlock.bool):
            with pytest.raises(DTypeError, match="A must be float32 or float64"):
                function(interlock.ones(2, 2, dtype=dtype))
    with pytest.raises(DTypeError, match=r"^solve: dtypes must match"):
        linalg.solve(square, square.double())
    with pytest.raises(ShapeError, match=r"^solve: B must have as many rows as A"):
        linalg.solve(square, interlock.ones(3, 2))
    with pytest.raises(ShapeError, match=r"^solve: B must be a matrix"):
        linalg.solve(square, interlock.ones(2), left=False)
    with pytest.raises(ArgumentError, match=r"^lu: pivot must be True"):
        linalg.lu(square, pivot=False)
    with pytest.raises(ArgumentError, match=r"^qr: mode must be 'reduced', 'complete' or 'r'"):
        linalg.qr(square, "x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^eigh: UPLO must be 'L' or 'U'"):
        linalg.eigh(square, "x")  # type: ignore[arg-type]
    for pivots in ([0, 1], [3, 1]):
        with pytest.raises(ArgumentError, match=r"^lu_solve: pivots must be from 1 to 2"):
            linalg.lu_solve(square, interlock.tensor(pivots).int(), square)
    with pytest.raises(DTypeError, match=r"^lu_solve: pivots must be int32"):
        linalg.lu_solve(square, interlock.tensor([1, 2]), square)


def test_results_are_named_tuples() -> None:
    found = linalg.qr(interlock.eye(1))
    assert repr(found) == "interlock.return_types.linalg_qr(\nQ=tensor([[1.]]),\nR=tensor([[1.]]))"
    assert linalg.svd(interlock.eye(1))._fields == ("U", "S", "Vh")
    assert isinstance(linalg.lu(interlock.eye(1)), interlock.return_types.linalg_lu)


def test_devices_have_the_results_of_the_cpu(devices: tuple[str, ...]) -> None:
    x = interlock.tensor(symmetric(2, 3, 3))
    on_device = x.to(devices[0])
    for name in ("cholesky", "inv", "det", "qr", "svd", "eigh", "lu", "slogdet"):
        found, expected = getattr(linalg, name)(on_device), getattr(linalg, name)(x)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            assert str(one.device) == devices[0]
            # Kernels may choose other signs of vectors.
            assert close(one.cpu().abs(), other.abs().tolist(), 1e-12)
    with pytest.raises(LinAlgError, match="batch element 1"):
        linalg.inv(SINGULAR.to(devices[0]))


def test_preferred_library_orders_the_kernels_of_devices(devices: tuple[str, ...]) -> None:
    x, magma = interlock.eye(2, device=devices[0]), "magma: interlock does not call MAGMA"
    others = [
        *(f"{name}: needs cpu, got {x.device}" for name in ("mkl", "openblas")),
        "native: behind cusolver",
    ]

    def kernels() -> list[str]:
        return [str(one) for one in dispatch.explain("cholesky", x).considered]

    assert kernels() == ["cusolver: chosen", magma, *others]
    with backends.override({"cuda.linalg_library": "magma"}):
        assert kernels()[:2] == [magma, "cusolver: chosen"]
        assert dispatch.explain("cholesky", x.cpu()).kernel in ON_CPU
        preferred_linalg_library("cusolver")
        assert kernels()[0] == "cusolver: chosen"


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("cholesky", (interlock.eye(2),), {}),
        ("lu_factor", (interlock.eye(2, 3),), {}),
        ("solve_triangular", (interlock.eye(2), interlock.ones(2, 1)), {"upper": True}),
        ("qr", (interlock.ones(2, 3),), {}),
        ("eigh", (interlock.eye(2),), {}),
        ("svd", (interlock.ones(2, 3),), {}),
    ],
)
def test_choice_of_each_kernel_can_be_explained(
    name: str, arguments: tuple[Any, ...], options: dict[str, bool]
) -> None:
    function: Any = dispatch.explain
    call = function(name, *arguments, **options)
    assert call.kernel in ON_CPU
    assert str(call.considered[0]) == "cusolver: needs a device, got cpu"
    with dispatch.record() as calls:
        getattr(linalg, name)(*arguments, **options)
    assert [(each.operation, each.arguments) for each in calls] == [(name, call.arguments)]


def test_record_names_the_function_that_factors() -> None:
    with dispatch.record() as calls:
        linalg.inv(interlock.eye(2))
    operations = ["lu_factor", "solve_triangular", "solve_triangular"]
    assert [(call.operation, call.composite) for call in calls] == [(name, "inv") for name in operations]


def test_driver_is_for_devices(devices: tuple[str, ...]) -> None:
    x = interlock.tensor([[3.0], [4.0]])
    for function in (linalg.svd, linalg.svdvals):
        with pytest.raises(ArgumentError, match="driver must be None on the CPU"):
            function(x, driver="gesvd")
        with pytest.raises(
            ArgumentError, match="driver must be 'gesvd', 'gesvdj', 'gesvda' or None, got 'x'"
        ):
            function(x, driver="x")  # type: ignore[arg-type]
    assert close(linalg.svdvals(x.to(devices[0]), driver="gesvdj").cpu(), [5.0], 1e-6)


@pytest.mark.parametrize("name", ["lu", "lu_factor_ex", "svd"])
def test_three_results_are_written_to_out(name: str) -> None:
    function: Any = getattr(linalg, name)
    x = interlock.tensor([[3.0, 1.0], [4.0, 2.0]])
    expected = function(x)
    given = [interlock.empty(0, dtype=each.dtype) for each in expected]
    result = function(x, out=given)
    assert type(result) is type(expected)
    assert all(one is other for one, other in zip(result, given, strict=True))
    assert [out.tolist() for out in given] == [each.tolist() for each in expected]
    with pytest.raises(TypeError, match=f"^{name}: out must be a tuple or list of three Tensors"):
        function(x, out=given[:2])
    with pytest.raises(TypeError, match=f"^{name}: out must be a tuple or list of three Tensors"):
        function(x, out=given[0])
    shared = (
        rf"^{name}: out must have tensors that share no memory, got the same memory in out\[0\] and out\[2\]"
    )
    with pytest.raises(RuntimeError, match=shared):
        function(x, out=[given[0], given[1], given[0]])
    with pytest.raises(DTypeError, match=rf"^{name}: out\[2\] must be"):
        function(x, out=[*given[:2], interlock.empty(0, dtype=interlock.float16)])
    assert [out.tolist() for out in given] == [each.tolist() for each in expected]
