"""Python objects that scopes, captured states and values of contexts own are visited by the collector."""

from __future__ import annotations

import pytest
from interlock._core import state

from tests.helpers.subprocess import run_program

HAS_TENSORS = hasattr(__import__("interlock"), "Tensor")


def test_cycles_through_contexts_and_scopes_are_collected() -> None:
    assert state
    status, printed, errors = run_program("state.collected_cycles.scopes")
    assert (status, printed) == (0, "[]\n[]\n"), errors


@pytest.mark.skipif(not HAS_TENSORS, reason="hooks of saved tensors need the tensor runtime")
def test_cycles_through_hooks_are_collected() -> None:
    status, printed, errors = run_program("state.collected_cycles.hooks")
    assert (status, printed) == (0, "True True\n"), errors
