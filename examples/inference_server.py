"""An inference server: no request records gradients, and each one chooses its own precision.

It needs fastapi and uvicorn. Run it in this folder:

    uvicorn inference_server:app
    curl 'http://127.0.0.1:8000/predict?precision=tf32'
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Literal

import interlock
from fastapi import Depends, FastAPI
from interlock import backends, state

Precision = Literal["none", "ieee", "tf32"]


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Disable gradients for every request before the server accepts the first one."""
    state.set_process_defaults(grad_enabled=False)
    yield


async def precise(precision: Precision = "none") -> AsyncIterator[None]:
    """Set the precision of a request's products while its route runs."""
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


@app.get("/gradient")
async def gradient() -> dict[str, bool]:
    """Enable gradients for this request only."""
    with interlock.enable_grad():
        return {"grad_enabled": interlock.is_grad_enabled()}
