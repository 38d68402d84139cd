"""A process has one copy of the state: imports that would create a second one are refused."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import run_program


def test_import_of_a_second_copy_of_the_extension_is_refused() -> None:
    done = run_program("embedding/import_of_a_second_copy_of_the_extension_is_refused.py")
    assert done.code == 0, done.stderr
    assert "second copy of interlock" in done.stdout


REFUSAL = (
    "interlock keeps its state once per process and can't be imported in a sub-interpreter; "
    "import it in the main interpreter\n"
)
SCRIPT = """
try:
    import interlock
except ImportError as error:
    print(error, flush=True)
"""


@pytest.mark.parametrize("isolated", [False, True])
def test_import_in_a_sub_interpreter_is_refused(isolated: bool) -> None:
    # Isolated interpreters have their own GIL since 3.12.
    done = run_program("embedding/run_in_a_sub_interpreter.py", isolated, SCRIPT)
    assert (done.code, done.stdout) == (0, 2 * REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters came with Python 3.14")
def test_import_in_concurrent_interpreters_is_refused() -> None:
    done = run_program("embedding/run_in_a_concurrent_interpreter.py", SCRIPT)
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor came with Python 3.14")
def test_import_in_an_interpreter_pool_is_refused() -> None:
    done = run_program("embedding/import_in_an_interpreter_pool_is_refused.py")
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


def test_reimport_keeps_the_state() -> None:
    done = run_program("embedding/reimport_keeps_the_state.py")
    assert (done.code, done.stdout) == (0, "False False\n"), done.stderr
