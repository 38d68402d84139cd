"""An HTTP server whose requests have their own flags and modes.

It needs starlette and uvicorn. Run it in this folder:

    uvicorn server:app
    curl 'http://127.0.0.1:8000/?benchmark_limit=3&grad=0'
"""

import asyncio

import interlock
from interlock import backends
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def work() -> None:
    """Stand for work that the server awaits while it answers other requests."""
    await asyncio.sleep(0.01)


async def answer(request: Request) -> JSONResponse:
    """Set the flag and the mode of the query around the work, and return those that are active after it."""
    limit, grad = (int(request.query_params[name]) for name in ("benchmark_limit", "grad"))
    with backends.override({"cudnn.benchmark_limit": limit}), interlock.set_grad_enabled(bool(grad)):
        await work()
        active = backends.cudnn.benchmark_limit, int(interlock.is_grad_enabled())
    return JSONResponse(dict(zip(("benchmark_limit", "grad"), active, strict=True)))


app = Starlette(routes=[Route("/", answer)])
