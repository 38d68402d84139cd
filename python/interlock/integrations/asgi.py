"""Middleware for servers of ASGI applications, such as uvicorn. Needs no other package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from interlock._core.state import begin_defaults, end_defaults

__all__ = ["DefaultStateMiddleware"]

_Message = MutableMapping[str, Any]
_Application = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]
]


class DefaultStateMiddleware:
    """ASGI middleware whose requests start with the defaults of the process.

    A server may run a request in a copy of the context of an earlier request on the same connection, with the
    scopes that were open there. Make this middleware the outermost one: the last that `add_middleware` of
    Starlette or FastAPI adds.

    Args:
        app: The application to call.

    Raises:
        TypeError: `app` is not callable.

    Example:
        >>> import asyncio
        >>> import interlock
        >>> from interlock.integrations import asgi
        >>> async def app(scope, receive, send):
        ...     print(interlock.is_grad_enabled())
        >>> with interlock.no_grad():
        ...     asyncio.run(asgi.DefaultStateMiddleware(app)({"type": "http"}, None, None))
        True

    """

    def __init__(self, app: _Application) -> None:
        if not callable(app):
            raise TypeError(f"DefaultStateMiddleware: app must be callable, got {type(app).__name__}")
        self._app = app

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        """Call the application; requests and WebSocket connections start with the defaults."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        token = begin_defaults()
        try:
            await self._app(scope, receive, send)
        finally:
            end_defaults(token)
