"""No binding reads the state that the thread has seen in another context."""

from __future__ import annotations

from tests.helpers.subprocess import run_program


def test_functions_read_the_context_of_their_call() -> None:
    status, printed, errors = run_program("state.reads_after_a_switch.functions")
    assert (status, printed) == (0, "True True True\n[] []\n"), errors
