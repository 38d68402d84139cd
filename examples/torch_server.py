"""A server of a PyTorch model: each request has gradient modes of its own.

It needs torch, fastapi and uvicorn. Run it in this folder:

    uvicorn torch_server:app
    curl http://127.0.0.1:8000/predict
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import interlock
import torch
from fastapi import FastAPI
from interlock import aio
from interlock.integrations.torch import follow

model = torch.nn.Linear(2, 1)


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Let PyTorch obey interlock, and each task have modes of its own."""
    # From Python 3.14 tasks have them without this factory.
    asyncio.get_running_loop().set_task_factory(aio.task_factory())
    with follow():
        yield


app = FastAPI(lifespan=lifespan)


def describe(output: torch.Tensor) -> dict[str, bool]:
    """Return how an output was computed."""
    return {"requires_grad": output.requires_grad, "is_inference": output.is_inference()}


@app.get("/predict")
@interlock.inference_mode()
async def predict() -> dict[str, bool]:
    """Wait for something while other requests run, then compute."""
    await asyncio.sleep(0.01)
    return describe(model(torch.ones(1, 2)))


@app.get("/train")
async def train() -> dict[str, bool]:
    """Compute with gradients, which `predict` must not disable."""
    await asyncio.sleep(0.01)
    return describe(model(torch.ones(1, 2)))
