"""docs/threads.md: each row of the table of mechanisms, which carry the state or not, has a check here."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread
import greenlet
import interlock
import pytest
import trio
import uvloop
from asgiref.sync import async_to_sync, sync_to_async
from interlock import backends
from interlock.backends import cudnn

from tests.helpers.subprocess import eval_program

PAGE = Path(__file__).resolve().parents[3] / "docs" / "threads.md"
State = tuple[bool, bool]
DEFAULT = (True, True)
CARRIED = (False, False)
INHERITS = bool(getattr(sys.flags, "thread_inherit_context", 0))


def seen() -> State:
    """Return a mode and a flag."""
    return interlock.is_grad_enabled(), cudnn.enabled


async def seen_later() -> State:
    await asyncio.sleep(0)
    return seen()


async def in_task() -> list[State]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(seen_later())
    # CPython 3.12 and newer have eager tasks.
    start = getattr(asyncio, "eager_task_factory", asyncio.Task)
    return [
        await asyncio.create_task(seen_later()),
        await start(loop=asyncio.get_running_loop(), coro=seen_later()),
        task.result(),
        *await asyncio.gather(seen_later()),
    ]


async def in_callback() -> list[State]:
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(4)]
    loop.call_soon(lambda: futures[0].set_result(seen()))
    loop.call_later(0.001, lambda: futures[1].set_result(seen()))
    asyncio.ensure_future(asyncio.sleep(0)).add_done_callback(lambda _: futures[2].set_result(seen()))
    reader, writer = socket.socketpair()
    with reader, writer:
        loop.add_reader(reader, lambda: loop.remove_reader(reader) and futures[3].set_result(seen()))
        writer.send(b"x")
        return [await future for future in futures]


async def in_signal_handler() -> list[State]:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[State] = loop.create_future()
    loop.add_signal_handler(signal.SIGUSR1, lambda: found.set_result(seen()))
    os.kill(os.getpid(), signal.SIGUSR1)
    return [await found]


async def in_to_thread() -> list[State]:
    return [await asyncio.to_thread(seen)]


async def in_thread_of_anyio() -> list[State]:
    async def later() -> State:
        return seen()

    return [
        await anyio.to_thread.run_sync(seen),
        await anyio.to_thread.run_sync(anyio.from_thread.run, later),
    ]


async def in_task_of_anyio() -> list[State]:
    found: list[State] = []

    async def later() -> None:
        await anyio.sleep(0)
        found.append(seen())

    async with anyio.create_task_group() as group:
        group.start_soon(later)
    return found


async def in_task_of_trio() -> list[State]:
    found: list[State] = []

    async def later() -> None:
        await trio.lowlevel.checkpoint()
        found.append(seen())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(later)
    return [*found, await trio.to_thread.run_sync(seen)]


async def in_executor() -> list[State]:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as pool:
        return [
            pool.submit(seen).result(),
            *[await loop.run_in_executor(each, seen) for each in (pool, None)],
        ]


async def in_executor_of_interlock() -> list[State]:
    loop = asyncio.get_running_loop()
    with interlock.Executor(1) as pool:
        loop.set_default_executor(pool)
        return [
            pool.submit(seen).result(),
            *[await loop.run_in_executor(each, seen) for each in (pool, None)],
        ]


async def calls_of_asgiref() -> list[State]:
    async def later() -> State:
        return seen()

    scope = interlock.enable_grad()
    before = [await sync_to_async(seen)(), await sync_to_async(async_to_sync(later))()]
    await sync_to_async(scope.__enter__)()
    assert seen() == (True, False)
    await sync_to_async(scope.__exit__)(None, None, None)
    return [*before, seen()]


def in_greenlet() -> list[State]:
    given = greenlet.greenlet(seen)
    given.gr_context = contextvars.copy_context()
    assert given.switch() == CARRIED
    return [greenlet.greenlet(seen).switch()]


def in_thread() -> list[State]:
    found: list[State] = []
    thread = threading.Thread(target=lambda: found.append(seen()))
    thread.start()
    thread.join()
    return found


def in_foreign_thread() -> list[State]:
    """Call a function of Python on a thread that the C library started, which attaches for the call."""
    found: list[State] = []
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: found.append(seen()))
    library, thread = ctypes.CDLL(None), ctypes.c_void_p()
    assert library.pthread_create(ctypes.byref(thread), None, call, None) == 0
    assert library.pthread_join(thread, None) == 0
    return found


def in_process(method: str) -> list[State]:
    return [tuple(found) for found in eval_program("state.carriers.seen_in_a_process", method)]


def asyncio_run(function: Callable[[], Awaitable[list[State]]]) -> Callable[[], list[State]]:
    return lambda: asyncio.run(function())  # type: ignore[arg-type]


CHECKS: dict[str, tuple[Callable[[], list[State]], State]] = {
    "asyncio task, eager task, task group, `gather`": (asyncio_run(in_task), CARRIED),
    "asyncio under uvloop": (lambda: uvloop.run(in_task()), CARRIED),
    "`call_soon`, `call_later`, `add_reader`, done callbacks": (asyncio_run(in_callback), CARRIED),
    "signal handler of a loop": (asyncio_run(in_signal_handler), CARRIED),
    "`asyncio.to_thread`": (asyncio_run(in_to_thread), CARRIED),
    "`anyio.to_thread.run_sync`, `anyio.from_thread.run`": (asyncio_run(in_thread_of_anyio), CARRIED),
    "anyio task, on asyncio and on trio": (
        lambda: [
            *anyio.run(in_task_of_anyio, backend="asyncio"),
            *anyio.run(in_task_of_anyio, backend="trio"),
        ],
        CARRIED,
    ),
    "trio task, `trio.to_thread.run_sync`": (lambda: trio.run(in_task_of_trio), CARRIED),
    "`sync_to_async`, `async_to_sync` of asgiref": (async_to_sync(calls_of_asgiref), CARRIED),
    "`contextvars.copy_context().run`": (lambda: [contextvars.copy_context().run(seen)], CARRIED),
    "greenlet": (in_greenlet, DEFAULT),
    "`threading.Thread`": (in_thread, CARRIED if INHERITS else DEFAULT),
    "`ThreadPoolExecutor`, `loop.run_in_executor`": (
        asyncio_run(in_executor),
        CARRIED if INHERITS else DEFAULT,
    ),
    "`interlock.Executor`": (asyncio_run(in_executor_of_interlock), CARRIED),
    "a thread of Rust or C that attaches": (in_foreign_thread, DEFAULT),
    "`fork`": (lambda: in_process("fork"), CARRIED),
    "`spawn`": (lambda: in_process("spawn"), DEFAULT),
}


def rows() -> dict[str, str]:
    """Return the second column of the table for each row."""
    table = PAGE.read_text(encoding="utf-8").partition("| mechanism |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| ([^|-][^|]*) \| ([^|]*) \|$", table, re.MULTILINE))


def test_every_row_of_the_table_has_a_check() -> None:
    assert set(rows()) == set(CHECKS)


@pytest.mark.parametrize("mechanism", CHECKS)
def test_mechanism_carries_the_state_as_the_table_says(mechanism: str) -> None:
    run, expected = CHECKS[mechanism]
    with interlock.no_grad(), backends.override({"cudnn.enabled": False}):
        found = run()
    assert found
    assert set(found) == {expected}
    assert (expected == CARRIED) == rows()[mechanism].startswith("yes") or INHERITS
