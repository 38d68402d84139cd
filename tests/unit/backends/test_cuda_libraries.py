"""Preferred libraries and their workspaces: PyTorch's functions on top of flags."""

from __future__ import annotations

import copy
import enum
import pickle
from typing import Any

import pytest
from interlock import backends, errors
from interlock.backends import cuda
from interlock.backends.cuda import _BlasBackend, _LinalgBackend, _ROCmFABackend

pytestmark = pytest.mark.usefixtures("restored")

# The function, the flag, the enum, and the member of each name.
PREFERRED: list[tuple[Any, str, Any, dict[str, Any]]] = [
    (
        cuda.preferred_linalg_library,
        "cuda.linalg_library",
        _LinalgBackend,
        {
            "default": _LinalgBackend.Default,
            "cusolver": _LinalgBackend.Cusolver,
            "magma": _LinalgBackend.Magma,
        },
    ),
    (
        cuda.preferred_blas_library,
        "cuda.blas_library",
        _BlasBackend,
        {
            "default": _BlasBackend.Cublas,
            "cublas": _BlasBackend.Cublas,
            "hipblas": _BlasBackend.Cublas,
            "cublaslt": _BlasBackend.Cublaslt,
            "hipblaslt": _BlasBackend.Cublaslt,
            "ck": _BlasBackend.Ck,
        },
    ),
    (
        cuda.preferred_rocm_fa_library,
        "cuda.rocm_fa_library",
        _ROCmFABackend,
        {
            "default": _ROCmFABackend.Default,
            "aotriton": _ROCmFABackend.AOTriton,
            "ck": _ROCmFABackend.Ck,
        },
    ),
]
EACH = pytest.mark.parametrize(
    ("prefer", "flag", "kind", "names"), PREFERRED, ids=[flag for _, flag, *_ in PREFERRED]
)


class Other(enum.Enum):
    Default = 0


@EACH
def test_every_name_is_written_and_returned_as_a_member(
    prefer: Any, flag: str, kind: Any, names: dict[str, Any]
) -> None:
    assert prefer() is prefer(None) is names["default"]
    for name, member in names.items():
        assert prefer(name) is prefer() is member
        assert backends.explain(flag).level is backends.Level.PROCESS


@EACH
def test_every_member_is_written(prefer: Any, flag: str, kind: Any, names: dict[str, Any]) -> None:
    for member in kind:
        prefer(member)
        assert backends.explain(flag).value == member.name.lower()
        assert prefer() is names[member.name.lower()]


@EACH
def test_unknown_library_is_refused_with_the_known_ones(
    prefer: Any, flag: str, kind: Any, names: dict[str, Any]
) -> None:
    before = backends.snapshot()
    wrong = ("nope", "", "Default", 3, 0, 1.5, True, b"default", [], Other.Default)
    members = [member for other in PREFERRED if other[2] is not kind for member in other[2]]
    for given in (*wrong, *members):
        with pytest.raises(RuntimeError, match=rf"^backends\.{flag} must be ") as caught:
            prefer(given)
        assert isinstance(caught.value, errors.FlagTypeError | errors.FlagValueError)
        assert all(f"'{name}'" in str(caught.value) for name in names)
    assert backends.snapshot() == before
    # PyTorch raises a RuntimeError for two of them and a ValueError for the third.
    with pytest.raises(ValueError, match=flag):
        prefer(3)


@EACH
def test_preference_is_scoped_and_frozen_like_a_flag(
    prefer: Any, flag: str, kind: Any, names: dict[str, Any]
) -> None:
    name, member = list(names.items())[-1]
    with backends.override(**{flag: name}):
        assert prefer() is member
        prefer("default")
        assert prefer() is names["default"]
    with backends.frozen():
        assert prefer() is names["default"]
        with pytest.raises(errors.FlagsFrozenError, match=flag):
            prefer(name)


def test_enums_have_pytorchs_numbers_and_text() -> None:
    assert {member.name: int(member) for member in _LinalgBackend} == {
        "Default": 0,
        "Cusolver": 1,
        "Magma": 2,
    }
    assert {member.name: int(member) for member in _BlasBackend} == {
        "Default": 0,
        "Cublas": 1,
        "Cublaslt": 2,
        "Ck": 3,
    }
    assert {member.name: int(member) for member in _ROCmFABackend} == {"Default": 0, "AOTriton": 1, "Ck": 2}
    assert [str(kind.Default) for kind in (_LinalgBackend, _BlasBackend, _ROCmFABackend)] == [
        "_LinalgBackend.Default",
        "_BlasBackend.Default",
        "_ROCmFABackend.Default",
    ]


@pytest.mark.parametrize("member", [*_LinalgBackend, *_BlasBackend, *_ROCmFABackend], ids=str)
def test_member_can_be_pickled_and_copied(member: enum.Enum) -> None:
    assert copy.deepcopy(member) is member
    assert all(pickle.loads(pickle.dumps(member, protocol)) is member for protocol in range(6))


WORKSPACES = [
    (cuda.cublas_workspace_size, "cuda.cublas_workspace", 8_519_680),
    (cuda.cublaslt_workspace_size, "cuda.cublaslt_workspace", 1 << 20),
]
EACH_WORKSPACE = pytest.mark.parametrize(
    ("workspace", "flag", "default"), WORKSPACES, ids=[flag for _, flag, _ in WORKSPACES]
)


@EACH_WORKSPACE
def test_workspace_is_written_in_bytes_and_returned(workspace: Any, flag: str, default: int) -> None:
    assert workspace() == workspace(None) == default
    assert workspace(0) == workspace() == 0
    assert workspace(size=3 << 20) == workspace() == backends.explain(flag).value == 3 << 20
    with backends.override(**{flag: 5}):
        assert workspace() == 5
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError, match=flag):
        workspace(1)
    assert workspace() == 3 << 20


@EACH_WORKSPACE
@pytest.mark.parametrize("wrong", [-1, 1 << 70, True, False, "1", 1.0, [1]])
def test_workspace_is_a_number_of_bytes(workspace: Any, flag: str, default: int, wrong: object) -> None:
    with pytest.raises(RuntimeError, match=rf"^backends\.{flag} must be an int from 0") as caught:
        workspace(wrong)
    assert isinstance(caught.value, TypeError | ValueError)
    assert workspace() == default


def test_workspace_belongs_to_the_selected_library() -> None:
    cuda.cublas_workspace_size(10)
    cuda.cublaslt_workspace_size(20)
    sizes = {"default": 10, "cublas": 10, "hipblas": 10, "cublaslt": 20, "hipblaslt": 20}
    for name, size in sizes.items():
        assert cuda.blas_workspace_size(backend=name) == size  # type: ignore[arg-type]
    for member in (_BlasBackend.Default, _BlasBackend.Cublas):
        assert cuda.blas_workspace_size(None, member) == 10
    assert cuda.blas_workspace_size(30, _BlasBackend.Cublaslt) == cuda.cublaslt_workspace_size() == 30
    assert cuda.blas_workspace_size() == 10
    with backends.override(**{"cuda.blas_library": "cublaslt"}):
        assert cuda.blas_workspace_size() == 30
        # The default is cuBLAS, whichever is preferred.
        assert cuda.blas_workspace_size(backend="default") == 10
        assert cuda.blas_workspace_size(40) == 40
    assert (cuda.cublas_workspace_size(), cuda.cublaslt_workspace_size()) == (10, 40)


def test_composable_kernel_has_no_workspace() -> None:
    for given in ("ck", _BlasBackend.Ck):
        with pytest.raises(RuntimeError, match="the given library ck"):
            cuda.blas_workspace_size(1, given)  # type: ignore[arg-type]
    with (
        backends.override(**{"cuda.blas_library": "ck"}),
        pytest.raises(RuntimeError, match="the preferred library ck"),
    ):
        cuda.blas_workspace_size(1)


@pytest.mark.parametrize("wrong", ["nope", 3, 1.5, _LinalgBackend.Default])
def test_workspace_of_an_unknown_library_is_refused(wrong: Any) -> None:
    before = backends.snapshot()
    with pytest.raises(RuntimeError, match=r"backends\.cuda\.blas_library must be 'default', 'cublas'"):
        cuda.blas_workspace_size(1, wrong)
    assert backends.snapshot() == before
