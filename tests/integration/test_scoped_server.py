"""Requests of FastAPI and Starlette under uvicorn see what a ContextVar gives in their place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program
from tests.helpers.torch_python import eval_with_torch

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
    name = "integration.scoped_server.ask_an_example"
    paths = ["/predict", "/predict?precision=tf32", "/predict?precision=ieee", "/gradient"]
    answers = eval_program(name, str(EXAMPLES / "inference_server.py"), loop, 40, paths)
    predicted = {
        query: [["200", {"grad_enabled": False, "precision": precision}]]
        for query, precision in (
            ("/predict", "none"),
            ("/predict?precision=tf32", "tf32"),
            ("/predict?precision=ieee", "ieee"),
        )
    }
    assert answers == predicted | {"/gradient": [["200", {"grad_enabled": True}]]}


def test_server_of_a_model_of_torch_keeps_the_modes_of_requests_apart(tmp_path: Path) -> None:
    name = "integration.scoped_server.ask_an_example"
    answers = eval_with_torch(
        name, tmp_path, str(EXAMPLES / "torch_server.py"), "asyncio", 40, ["/predict", "/train"]
    )
    assert answers == {
        "/predict": [["200", {"requires_grad": False, "is_inference": True}]],
        "/train": [["200", {"requires_grad": True, "is_inference": False}]],
    }
