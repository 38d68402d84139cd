"""Requests of FastAPI and Starlette under uvicorn see what a ContextVar gives in their place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import eval_program
from tests.helpers.torch_python import eval_with_torch, skip_without

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


def test_scopes_reach_the_steps_of_a_stream_as_the_page_says() -> None:
    inside, default = [5, 0], [10, 1]
    seen = eval_program("integration.scoped_server.ask_for_streams", 5)
    # The block of the route ends before the stream begins, and so does a dependency with `scope="function"`.
    for place in ("around", "function"):
        assert (seen[f"{place}/def"], seen[f"{place}/async"]) == ([default] * 3, [default] * 3)
    # Each step of a synchronous generator runs in a copy of the context, on a thread.
    assert seen["inside/def"] == [inside, default, default]
    assert seen["inside/async"] == [inside] * 3
    for place in ("decorated", "wrapped", "dependency"):
        assert (seen[f"{place}/def"], seen[f"{place}/async"]) == ([inside] * 3, [inside] * 3)


def test_scope_of_each_kind_of_middleware_reaches_the_whole_request() -> None:
    seen = eval_program("integration.scoped_server.ask_below_middleware", 5)
    expected = [[5, 0], [5, 0], [[5, 0]] * 3, [[5, 0]]]
    assert seen == {kind: expected for kind in ("ASGI", "BaseHTTPMiddleware", "function")}


@pytest.mark.parametrize(
    ("how", "expected"), [("write", [7, 1]), ("scope", [10, 1]), ("set_process_defaults", [10, 0])]
)
def test_start_up_reaches_requests_by_flags_and_process_defaults(how: str, expected: list[int]) -> None:
    assert eval_program("integration.scoped_server.ask_after_start_up", how) == expected


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_inference_server_answers_with_the_state_of_each_request(loop: str) -> None:
    name = "integration.scoped_server.ask_an_example"
    paths = ["/predict", "/predict?precision=tf32", "/predict?precision=ieee", "/stream"]
    answers = eval_program(name, str(EXAMPLES / "inference_server.py"), loop, 40, paths)
    predicted = {
        query: [["200", {"grad_enabled": False, "precision": precision}]]
        for query, precision in (
            ("/predict", "none"),
            ("/predict?precision=tf32", "tf32"),
            ("/predict?precision=ieee", "ieee"),
        )
    }
    # Gradients are enabled in each of the three steps of the stream.
    assert answers == predicted | {"/stream": [["200", 111]]}


def test_server_of_a_model_of_torch_keeps_the_modes_of_requests_apart(tmp_path: Path) -> None:
    name = "integration.scoped_server.ask_an_example"
    skip_without(tmp_path, "fastapi", "uvicorn")
    answers = eval_with_torch(
        name, tmp_path, str(EXAMPLES / "torch_server.py"), "asyncio", 40, ["/predict", "/train"]
    )
    assert answers == {
        "/predict": [["200", {"requires_grad": False, "is_inference": True}]],
        "/train": [["200", {"requires_grad": True, "is_inference": False}]],
    }
