"""The recipe for servers: each request of an application under uvicorn has its own flags and modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import run_program

EXAMPLE = Path(__file__).parents[2] / "examples" / "server.py"


def answers(requests: int, is_isolated: bool) -> tuple[list[Any], str]:
    """Return each request with its answer, and what the server and the client printed to stderr."""
    done = run_program("integration.server.request_concurrently", str(EXAMPLE), requests, is_isolated)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("requests", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_server_answers_concurrent_requests_with_their_own_flags(requests: int) -> None:
    answered, printed = answers(requests, is_isolated=True)
    assert len(answered) == requests
    assert [sent for sent, answer in answered if sent != answer] == []
    assert printed == ""


def test_server_without_the_task_factory_mixes_requests_and_warns_once() -> None:
    answered, printed = answers(50, is_isolated=False)
    assert any(sent != answer for sent, answer in answered)
    assert printed.count("ScopeWarning: scopes of two asyncio tasks overlap") == 1
