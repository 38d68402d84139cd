"""Requests of FastAPI and Starlette under uvicorn see what a ContextVar gives in their place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program

EXAMPLES = Path(__file__).parents[2] / "examples"
MEBIBYTE = 1 << 20
# A `def` dependency with `yield` runs in a copy of the request's context, so it does not reach the route.
NOT_REACHED = {"none def", "none async", "def def", "def async"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc")
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("framework", ["fastapi", "starlette"])
@pytest.mark.parametrize("requests", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_requests_see_their_own_state_or_the_defaults(framework: str, loop: str, requests: int) -> None:
    seen: dict[str, Any] = eval_program(
        "integration.scoped_server.serve_and_ask", framework, loop, requests, seconds=180
    )
    assert (seen["answers"], seen["loop"]) == (3 * requests, loop)
    assert seen["wrong"] == []
    assert {place: [place not in NOT_REACHED] for place in seen["reached"]} == seen["reached"]
    # Of the second round: about 3 MiB of buffers may come and go.
    assert seen["growth"] < 16 * MEBIBYTE


def test_scope_of_an_async_dependency_covers_streams_and_background_tasks() -> None:
    streamed, after = eval_program("integration.scoped_server.ask_after_the_route", 20)
    state = {number: [number, int(number % 2 == 0)] for number in range(1, 21)}
    assert streamed == {str(number): [["200", seen]] for number, seen in state.items()}
    assert after == [[number, *seen] for number, seen in state.items()]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_inference_server_answers_with_the_state_of_each_request(loop: str) -> None:
    name = "integration.scoped_server.ask_the_inference_server"
    answers = eval_program(name, str(EXAMPLES / "inference_server.py"), loop, 40)
    predicted = {
        query: [["200", {"grad_enabled": False, "precision": precision}]]
        for query, precision in (
            ("/predict", "none"),
            ("/predict?precision=tf32", "tf32"),
            ("/predict?precision=ieee", "ieee"),
        )
    }
    assert answers == predicted | {"/gradient": [["200", {"grad_enabled": True}]]}
