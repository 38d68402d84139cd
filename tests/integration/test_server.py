"""The recipe for servers: each request of an application under uvicorn has its own flags and modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import run_program

EXAMPLE = Path(__file__).parents[2] / "examples" / "server.py"


def answers(requests: int) -> tuple[list[Any], str]:
    """Return each request with its answer, and what the server and the client printed to stderr."""
    done = run_program("integration.server.request_concurrently", str(EXAMPLE), requests)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("requests", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_server_answers_concurrent_requests_with_their_own_flags(requests: int) -> None:
    answered, printed = answers(requests)
    assert len(answered) == requests
    assert [sent for sent, answer in answered if sent != answer] == []
    assert printed == ""
