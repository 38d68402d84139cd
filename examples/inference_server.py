"""An inference server: no request records gradients, and each one chooses its own precision.

It needs fastapi and uvicorn. Run it in this folder:

    uvicorn inference_server:app
    curl 'http://127.0.0.1:8000/predict?precision=tf32'
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Literal

import interlock
from fastapi import Depends, FastAPI
from fastapi.responses import StreamingResponse
from interlock import backends, state
from interlock.integrations.asgi import DefaultStateMiddleware

Precision = Literal["none", "ieee", "tf32"]


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Disable gradients for every request before the server accepts the first one."""
    state.set_process_defaults(grad_enabled=False)
    yield


async def precise(precision: Precision = "none") -> AsyncIterator[None]:
    """Set the precision of a request's products while its route runs, and while its answer is sent."""
    with backends.override({"cuda.matmul.fp32_precision": precision}):
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/predict", dependencies=[Depends(precise)])
def predict() -> dict[str, str | bool]:
    """Stand for a model: return the state in which it would run. FastAPI calls it on a thread."""
    return {
        "grad_enabled": interlock.is_grad_enabled(),
        "precision": backends.cuda.matmul.fp32_precision,
    }


@interlock.enable_grad()
def steps() -> Iterator[str]:
    """Enable gradients for each step of a stream."""
    for _ in range(3):
        yield str(int(interlock.is_grad_enabled()))


@app.get("/stream")
async def stream() -> StreamingResponse:
    """Return before the first step runs, so a scope here would not reach the steps."""
    return StreamingResponse(steps())


# Added last, so that it is outside of all other middleware.
app.add_middleware(DefaultStateMiddleware)
