"""The ASGI middleware, called as a server calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import interlock
import pytest
from interlock import backends, state
from interlock.integrations import asgi

from tests.helpers.contexts import in_a_new_context

Seen = tuple[bool, int, str]
Body = Callable[[], Awaitable[object]]
DEFAULT: Seen = (True, 10, "cpu")
CALLER: Seen = (False, 5, "meta")


def seen() -> Seen:
    return interlock.is_grad_enabled(), backends.cudnn.benchmark_limit, str(interlock.get_default_device())


async def call(body: Body, kind: str = "http") -> None:
    """Call an application that runs `body` below the middleware."""

    async def app(scope: MutableMapping[str, Any], receive: object, send: object) -> None:
        assert (scope["type"], receive, send) == (kind, receive_message, send_message)
        await body()

    async def receive_message() -> MutableMapping[str, Any]:
        raise AssertionError

    async def send_message(_message: MutableMapping[str, Any]) -> None:
        raise AssertionError

    await asgi.DefaultStateMiddleware(app)({"type": kind}, receive_message, send_message)


async def call_with_a_state_of_the_caller(body: Body, kind: str = "http") -> list[Seen]:
    """Call the application inside scopes and after a write; return the states before and after the call."""
    interlock.set_default_device("meta")
    with interlock.no_grad(), backends.override({"cudnn.benchmark_limit": 5}):
        before = seen()
        try:
            await call(body, kind)
        except ZeroDivisionError:
            return [before, seen()]
        return [before, seen()]


@pytest.mark.parametrize(
    ("kind", "expected"), [("http", DEFAULT), ("websocket", DEFAULT), ("lifespan", CALLER)]
)
def test_requests_begin_with_the_defaults(kind: str, expected: Seen) -> None:
    found = []

    async def body() -> None:
        await asyncio.sleep(0)
        found.extend([seen(), await asyncio.create_task(later()), await asyncio.to_thread(seen)])

    async def later() -> Seen:
        return seen()

    assert asyncio.run(call_with_a_state_of_the_caller(body, kind)) == [CALLER, CALLER]
    assert found == [expected] * 3


def test_request_changes_nothing_for_the_caller() -> None:
    async def body() -> None:
        interlock.set_grad_enabled(False)
        interlock.set_default_device("cpu")
        backends.override({"cudnn.benchmark_limit": 7}).__enter__()
        assert seen() == (False, 7, "cpu")
        raise ZeroDivisionError

    assert asyncio.run(call_with_a_state_of_the_caller(body)) == [CALLER, CALLER]


@in_a_new_context
def test_defaults_of_the_process_reach_requests_that_are_in_progress() -> None:
    found = []

    async def body() -> None:
        state.set_process_defaults(grad_enabled=False)
        found.append(seen())
        state.set_process_defaults(grad_enabled=None)
        found.append(seen())

    asyncio.run(call_with_a_state_of_the_caller(body))
    assert [grad for grad, _, _ in found] == [False, True]


def test_requests_that_overlap_keep_their_scopes() -> None:
    async def request(number: int) -> int:
        async def body() -> None:
            with backends.override({"cudnn.benchmark_limit": number}), interlock.no_grad():
                await asyncio.sleep(0.001 * (number % 3))
                assert seen() == (False, number, "cpu")
            assert seen() == DEFAULT

        await call(body)
        return number

    async def main() -> list[int]:
        with interlock.no_grad():
            return await asyncio.gather(*map(request, range(1, 30)))

    assert asyncio.run(main()) == list(range(1, 30))


def test_values_of_other_libraries_are_not_changed() -> None:
    values = ["set by the server"]
    changes: list[str] = []

    def restore(value: str) -> None:
        changes.append(value)
        values[0] = value

    with state.register_carried("value", lambda: values[0], restore):

        async def body() -> None:
            values[0] = "set by the request"

        async def main() -> None:
            await call(body)
            # From Python 3.14, the end of the task restores the value.
            assert (values, changes) == (["set by the request"], [])

        asyncio.run(main())


def test_middleware_refuses_what_it_cannot_call() -> None:
    with pytest.raises(TypeError, match=r"^DefaultStateMiddleware: app must be callable, got int$"):
        asgi.DefaultStateMiddleware(3)  # type: ignore[arg-type]
