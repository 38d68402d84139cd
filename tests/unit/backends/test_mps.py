"""`backends.mps`, which reports that MPS is not available."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from interlock import errors
from interlock.backends import mps


def test_mps_is_neither_built_nor_available() -> None:
    assert mps.is_built() is False
    assert mps.is_available() is False


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("get_core_count", mps.get_core_count),
        ("get_name", mps.get_name),
        ("is_macos_or_newer", lambda: mps.is_macos_or_newer(13, 0)),
        ("is_macos13_or_newer", mps.is_macos13_or_newer),
        ("is_macos13_or_newer", lambda: mps.is_macos13_or_newer(minor=2)),
    ],
)
def test_functions_that_need_mps_raise(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(errors.NoAcceleratorError, match=rf"mps\.{name}: .*MPS") as caught:
        call()
    assert isinstance(caught.value, RuntimeError)


def test_signatures_equal_those_of_pytorch() -> None:
    assert str(inspect.signature(mps.is_macos_or_newer)) == "(major: 'int', minor: 'int') -> 'bool'"
    assert str(inspect.signature(mps.is_macos13_or_newer)) == "(minor: 'int' = 0) -> 'bool'"
