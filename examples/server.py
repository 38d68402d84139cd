"""A Starlette application in which each request has its own flags and modes.

uvicorn server:app

uvicorn creates a task for each request. With interlock's task factory each of them has a state of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import interlock
from interlock import aio, backends
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    asyncio.get_running_loop().set_task_factory(aio.task_factory())
    yield


async def predict(request: Request) -> JSONResponse:
    benchmark = request.query_params["benchmark"] == "1"
    limit = int(request.query_params["limit"])
    flags = {"cudnn.benchmark": benchmark, "cudnn.benchmark_limit": limit}
    with interlock.inference_mode(), backends.override(**flags):
        await asyncio.sleep(0.01)  # Other requests run meanwhile.
        seen = {"benchmark": backends.cudnn.benchmark, "limit": backends.cudnn.benchmark_limit}
    return JSONResponse(seen)


app = Starlette(routes=[Route("/predict", predict)], lifespan=lifespan)
