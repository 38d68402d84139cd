"""The recipe for web servers: each request has its own flags, also with thousands of them at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.subprocess import child_environment

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 2000
START_SECONDS = 60
FACTORY = "    asyncio.get_running_loop().set_task_factory(aio.task_factory())\n"


@pytest.fixture(autouse=True)
def enough_files() -> Iterator[None]:
    """Allow a connection for each request, here and in the server, which inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < REQUESTS + 100:
        pytest.skip(f"a process may open only {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, REQUESTS + 100), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Run uvicorn in a folder; return its port, and a list that gets the lines of its standard error."""
    with socket.create_server(("127.0.0.1", 0), backlog=REQUESTS) as listener:
        port = listener.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "server:app", "--fd", str(listener.fileno())]
        options = ["--log-level", "warning", "--backlog", str(REQUESTS)]
        with subprocess.Popen(
            [*command, *options],
            cwd=folder,
            env=child_environment(),
            pass_fds=[listener.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            lines: list[str] = []
            try:
                yield port, lines
            finally:
                server.send_signal(signal.SIGINT)
                _, errors = server.communicate(timeout=START_SECONDS)
                lines += errors.splitlines()


async def request(port: int, number: int) -> dict[str, object]:
    """Request the flags of a number, and return the flags that the request had."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    target = f"/predict?benchmark={number % 2}&limit={number}"
    writer.write(f"GET {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), answer
    return json.loads(body)


async def all_requests(port: int) -> tuple[Counter[bool], float]:
    """Send all requests at once. Return how many were answered with their own flags, and the seconds."""
    # The server accepts connections once it has started.
    await asyncio.wait_for(request(port, 0), START_SECONDS)
    start = time.perf_counter()
    answers = await asyncio.gather(*(request(port, number) for number in range(REQUESTS)))
    seconds = time.perf_counter() - start
    own = ({"benchmark": number % 2 == 1, "limit": number} for number in range(REQUESTS))
    return Counter(answer == flags for answer, flags in zip(answers, own, strict=True)), seconds


def test_each_of_2000_concurrent_requests_has_its_own_flags(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "server.py", tmp_path)
    with served(tmp_path) as (port, lines):
        counted, seconds = asyncio.run(all_requests(port))
    assert counted == {True: REQUESTS}
    assert lines == []
    print(f"{REQUESTS} requests in {seconds:.2f} s on {os.cpu_count()} CPUs")


def test_requests_without_the_task_factory_are_mixed_and_warn_once(tmp_path: Path) -> None:
    source = (ROOT / "examples" / "server.py").read_text()
    assert FACTORY in source
    (tmp_path / "server.py").write_text(source.replace(FACTORY, ""))
    with served(tmp_path) as (port, lines):
        counted, _seconds = asyncio.run(all_requests(port))
    assert counted[False] > REQUESTS / 2
    warnings = [line for line in lines if "ScopeWarning" in line]
    assert len(warnings) == 1
    assert "scopes of asyncio tasks of one event loop interleave" in warnings[0]
    assert "loop.set_task_factory(interlock.aio.task_factory())" in warnings[0]
    assert f"{tmp_path / 'server.py'}:" in warnings[0]
