"""`einsum`: values against NumPy, the order of contractions, gradients and errors."""

from __future__ import annotations

import sys
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import backends, dispatch, errors

from tests.unit.tensor import gradcheck

EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij , kj": [(2, 3), (4, 3)],
    "bij,bjk->bik": [(2, 2, 3), (2, 3, 2)],
    "ba": [(2, 3)],
    "ij->": [(2, 3)],
    "ii->i": [(3, 3)],
    "ii": [(3, 3)],
    "iij->j": [(2, 2, 3)],
    "i,j->ij": [(2,), (3,)],
    "...ij,...jk->...ik": [(4, 2, 3), (5, 4, 3, 2)],
    "...ij,...jk": [(4, 2, 3), (5, 4, 3, 2)],
    "...i->...": [(2, 3, 4)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)],
    "ab,cb,ad->cd": [(2, 3), (4, 3), (2, 2)],
    "aA,Ab->ab": [(2, 3), (3, 2)],
    ",ij->ji": [(), (2, 3)],
    "ij,jk->ki": [(2, 3), (3, 4)],
    "i,i->": [(3,), (3,)],
    "ijk,kl->jl": [(2, 3, 4), (4, 2)],
    "ij,ij,ij->j": [(2, 3), (2, 3), (2, 3)],
    "ij,i->ij": [(2, 3), (1,)],
    "ij,jk,k->ik": [(2, 1), (3, 4), (4,)],
}


def arrays(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shapes))
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_agrees_with_numpy(everywhere: str, equation: str) -> None:
    operands = arrays(EQUATIONS[equation])
    tensors = [interlock.tensor(array, device=everywhere) for array in operands]
    expected = np.einsum(equation, *operands)
    np.testing.assert_allclose(interlock.einsum(equation, *tensors).cpu().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(interlock.einsum(equation, tensors).cpu().numpy(), expected, rtol=1e-12)


def test_einsum_sums_an_ellipsis_that_the_result_lacks() -> None:
    # NumPy refuses it; PyTorch sums.
    [a] = arrays([(2, 3, 4)])
    np.testing.assert_allclose(interlock.einsum("i...->i", interlock.tensor(a)).numpy(), a.sum((1, 2)))


def test_einsum_accepts_numbers_as_labels() -> None:
    a, b = arrays([(2, 3), (3, 4)])
    x, y = interlock.tensor(a), interlock.tensor(b)
    np.testing.assert_allclose(interlock.einsum(x, [0, 27], y, [27, 2], [2, 0]).numpy(), (a @ b).T)
    np.testing.assert_allclose(interlock.einsum(x, [..., 1]).numpy(), a)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_passes_gradcheck(equation: str) -> None:
    gradcheck.check(lambda *tensors: interlock.einsum(equation, *tensors), *arrays(EQUATIONS[equation]))


def products(calls: dispatch.Recording) -> list[str]:
    """Return the shapes of the products of one einsum."""
    return [call.arguments for call in calls if call.operation == "matmul"]


def test_order_of_contractions_obeys_the_flags() -> None:
    # From left to right the intermediate result has 30 x 40 elements, in the best order 2 x 3.
    tensors = [interlock.ones(*shape) for shape in [(30, 3), (3, 40), (2, 30)]]
    with dispatch.record() as optimized:
        best = interlock.einsum("jk,kl,ij->il", *tensors)
    with backends.override({"opt_einsum.enabled": False}), dispatch.record() as from_left:
        plain = interlock.einsum("jk,kl,ij->il", *tensors)
    assert np.array_equal(best.numpy(), plain.numpy())
    assert sorted(products(from_left)) == ["cpu float32 1x30x3 @ 1x3x40", "cpu float32 1x40x30 @ 1x30x2"]
    assert all("30x40" not in arguments and "40x30" not in arguments for arguments in products(optimized))
    [chosen] = [call for call in optimized if call.operation == "einsum"]
    [plain_call] = [call for call in from_left if call.operation == "einsum"]
    assert chosen.kernel == "opt_einsum"
    [path] = chosen.notes
    assert path.startswith("path (")
    assert f", {path}" in str(chosen)
    assert plain_call.kernel == "left_to_right"
    assert str(plain_call.considered[0]) == "opt_einsum: backends.opt_einsum.enabled is False"


@pytest.mark.parametrize("strategy", ["auto", "greedy", "optimal"])
def test_strategy_is_passed_to_opt_einsum(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    package = backends.opt_einsum.get_opt_einsum()
    given: list[str] = []

    def contract_path(*operands: object, optimize: str, shapes: bool) -> object:
        given.append(optimize)
        return [(0, 1), (0, 1)], None

    monkeypatch.setattr(package, "contract_path", contract_path)
    changed: Any = {"opt_einsum.strategy": strategy}
    with backends.override(changed):
        interlock.einsum("ij,jk,kl->il", *[interlock.ones(2, 2)] * 3)
    assert given == [strategy]


def test_einsum_without_opt_einsum_contracts_from_left_to_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    with dispatch.record() as calls:
        interlock.einsum("ij,jk,kl->il", *[interlock.ones(2, 2)] * 3)
    [call] = [call for call in calls if call.operation == "einsum"]
    assert (call.kernel, str(call.considered[0])) == (
        "left_to_right",
        "opt_einsum: opt_einsum not found (pip install opt_einsum)",
    )


def test_exception_of_opt_einsum_propagates(monkeypatch: pytest.MonkeyPatch) -> None:
    def contract_path(*operands: object, **options: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(backends.opt_einsum.get_opt_einsum(), "contract_path", contract_path)
    with pytest.raises(KeyboardInterrupt):
        interlock.einsum("ij,jk,kl->il", *[interlock.ones(2, 2)] * 3)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ij,jk", "einsum: equation must have one group of labels for each of the 1 operands, got 2"),
        ("i", r"einsum: operands must have 1 dimensions, as its labels, got shape \(2, 3\) for operand 0"),
        (
            "...ijk",
            r"operands must have at least 3 dimensions, as its labels, got shape \(2, 3\) for operand 0",
        ),
        ("ij->ii", "einsum: equation must have each label of the result once .*, got 'i'"),
        ("i-j", "einsum: equation must consist of letters, .*, got 'i-j'|\"i-j\""),
        (
            "ij->k",
            "einsum: equation must have each label of the result once in the result, and in an operand",
        ),
        (
            "ii",
            r"einsum: operands must have one size in all dimensions with label i, got shape .* operand 0",
        ),
        ("", r"einsum: operands must have 0 dimensions, as its labels, got shape \(2, 3\) for operand 0"),
    ],
)
def test_einsum_names_what_it_refuses(equation: str, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=message):
        interlock.einsum(equation, interlock.ones(2, 3))


@pytest.mark.parametrize("shape", [(2, 1), (1, 2)])
def test_einsum_does_not_broadcast_within_an_operand(shape: tuple[int, int]) -> None:
    with pytest.raises(errors.ArgumentError, match="einsum: operands must have one size in all dimensions"):
        interlock.einsum("ii", interlock.ones(shape))
    assert interlock.einsum("ij,jk", interlock.ones(shape), interlock.ones(2, 3)).shape[1] == 3


def test_einsum_refuses_arguments_of_other_types() -> None:
    untyped: Any = interlock.einsum
    x = interlock.ones(2)
    with pytest.raises(TypeError, match="einsum: each operand must be a Tensor, got int"):
        untyped("i", 3)
    with pytest.raises(TypeError, match="einsum: equation must be a str or a Tensor"):
        untyped(3, x)
    with pytest.raises(TypeError, match=r"einsum: labels must be ints or \.\.\., got str"):
        untyped(x, ["i"])
    with pytest.raises(errors.ArgumentError, match="einsum: labels must be from 0 to 51, got 52"):
        untyped(x, [52])
    with pytest.raises(errors.ArgumentError, match="einsum: operands must contain at least one tensor"):
        untyped("")


def test_einsum_broadcasts_a_size_of_1_to_0() -> None:
    x, y = interlock.ones(1, 0), interlock.ones(2, 1)
    assert interlock.einsum("i...,j...->ij...", x, y).shape == (1, 2, 0)
    assert interlock.einsum("i...,j...->ij", x, y).tolist() == [[0.0, 0.0]]
