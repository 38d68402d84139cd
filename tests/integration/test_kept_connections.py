"""A later request of a connection may begin in the context of an earlier one: what happens, and the cures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import eval_program

EXAMPLE = Path(__file__).parents[2] / "examples" / "inference_server.py"
PROGRAM = "integration.kept_connections.states_of_two_requests"
# A flag, a mode, and what a variable of the context has.
WITHIN = [5, False, 5]
DEFAULT = [10, True, 0]
CASES = [("asyncio", "large"), ("asyncio", "pipelined"), ("uvloop", "pipelined")]


def inherits(requests: str) -> bool:
    """Return whether the second request begins in the context of the first.

    From Python 3.15, asyncio calls a protocol in the context of the server, wherever reading was resumed.
    """
    return requests == "pipelined" or sys.version_info < (3, 15)


@pytest.mark.parametrize(("loop", "requests"), CASES)
def test_without_a_cure_a_request_inherits_from_the_one_before(loop: str, requests: str) -> None:
    assert eval_program(PROGRAM, loop, "none", requests) == [
        WITHIN,
        WITHIN if inherits(requests) else DEFAULT,
    ]


@pytest.mark.parametrize(("loop", "requests"), CASES)
def test_each_request_below_the_middleware_begins_with_the_defaults(loop: str, requests: str) -> None:
    # The middleware leaves other variables alone.
    second = [*DEFAULT[:2], WITHIN[2]] if inherits(requests) else DEFAULT
    assert eval_program(PROGRAM, loop, "middleware", requests) == [WITHIN, second]


@pytest.mark.parametrize(("loop", "requests"), CASES)
def test_option_of_uvicorn_begins_each_request_in_an_empty_context(loop: str, requests: str) -> None:
    assert eval_program(PROGRAM, loop, "reset_contextvars", requests) == [WITHIN, DEFAULT]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_scope_of_the_example_does_not_reach_the_next_request(loop: str) -> None:
    name = "integration.kept_connections.pipelined_answers_of_an_example"
    answers = eval_program(name, str(EXAMPLE), loop)
    assert [answer["precision"] for answer in answers] == ["tf32", "none"]
