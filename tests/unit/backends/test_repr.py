"""`repr` of a namespace of flags shows each flag with its value."""

from __future__ import annotations

import types

import pytest
from interlock import backends
from interlock._core import backends as _native

OWNERS = sorted({row["name"].rpartition(".")[0] for row in _native.table()})


def namespace(owner: str) -> object:
    found: object = backends
    for name in owner.split(".") if owner else ():
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("owner", OWNERS)
def test_repr_shows_every_flag_with_its_value(owner: str) -> None:
    found = namespace(owner)
    name = f"interlock.backends.{owner}".rstrip(".")
    kind = "module" if isinstance(found, types.ModuleType) else "flags"
    leaves = [row["name"].rpartition(".")[2] for row in _native.table() if namespace_of(row) == owner]
    shown = ", ".join(f"{leaf}={getattr(found, leaf)!r}" for leaf in leaves)
    assert repr(found) == f"<{kind} {name!r}: {shown}>"


def namespace_of(row: _native.Flag) -> str:
    return row["name"].rpartition(".")[0]


def test_repr_shows_the_effective_values_in_a_scope() -> None:
    with backends.override({"cuda.matmul.fp32_precision": "tf32"}):
        assert "fp32_precision='tf32', allow_tf32=True" in repr(backends.cuda.matmul)
    assert "fp32_precision='none', allow_tf32=False" in repr(backends.cuda.matmul)


def test_module_without_flags_looks_like_any_other() -> None:
    assert repr(backends.mkl).startswith("<module 'interlock.backends.mkl' from ")


def test_class_that_derives_from_one_of_flags_shows_them_too() -> None:
    derived = type("Derived", (backends.cuda.cuBLASModule,), {})
    assert repr(derived()) == repr(backends.cuda.matmul)
