"""Programs over contexts show the same with interlock and with an oracle over a plain ContextVar."""

from __future__ import annotations

import ast
import os
import sys

import pytest

from tests.helpers.subprocess import PROGRAMS, eval_program, run_program


def programs_of(module: str) -> list[str]:
    """Return the names of the programs of a module without parameters."""
    body = ast.parse((PROGRAMS / "contexts" / f"{module}.py").read_text()).body
    return [each.name for each in body if isinstance(each, ast.FunctionDef)]


# Where the programs find the subjects that they share.
ENVIRONMENT = {"PYTHONPATH": str(PROGRAMS / "contexts")}
LOOPS = ("asyncio", "uvloop")
CASES = [
    *[(f"{module}.{name}", ()) for module in ("tasks", "threads") for name in programs_of(module)],
    *[
        (f"anyio_tasks.{name}", (backend,))
        for name in ("task_groups", "cancellation", "threads", "portals")
        for backend in ("asyncio", "trio")
    ],
    *[(f"trio_tasks.{name}", ()) for name in ("nurseries", "cancellation", "threads", "async_generators")],
    *[(f"greenlet_switches.{name}", ()) for name in ("switches", "contexts_that_are_given")],
    *[(f"uvloop_tasks.{name}", ()) for name in ("tasks", "callbacks")],
    *[
        (f"asgiref_calls.{name}", (is_sensitive,))
        for name in ("calls", "scopes_of_a_thread")
        for is_sensitive in (True, False)
    ],
    *[
        (f"loop_endings.{name}", (loop,))
        for name in ("signal_handlers", "async_generators")
        for loop in LOOPS
    ],
    ("copies_between_threads.scopes_of_two_threads", ()),
    *([("loop_endings.eager_tasks", ())] if sys.version_info >= (3, 12) else []),
]


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=lambda value: str(value))
def test_program_shows_what_the_oracle_shows(name: str, arguments: tuple[object, ...]) -> None:
    subjects = ["oracle", "flag", "oracle-of-modes", "mode"]
    oracle, flag, oracle_of_modes, mode = eval_program(
        f"contexts.{name}", subjects, *arguments, env=ENVIRONMENT
    )
    assert oracle
    assert flag == oracle
    assert mode == oracle_of_modes


@pytest.mark.slow
def test_random_programs_show_what_the_oracle_shows() -> None:
    is_long = "LONG_TESTS" in os.environ
    examples = 5000 if is_long else 150
    done = run_program(
        "contexts.random_programs.compare", examples, not is_long, env=ENVIRONMENT, seconds=600
    )
    assert done.code == 0, done.stderr
