"""The model of the server: PyTorch's tensors where it is installed, else those of interlock."""

import asyncio
import json

import interlock
from interlock import backends, errors, state

try:
    import torch
except ImportError:
    library = interlock
else:
    from interlock.integrations import torch as bridge

    bridge.follow()
    library = torch

SHOWN = (
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
    "cudnn.deterministic",
    "cuda.matmul.fp32_precision",
)
WEIGHT = library.tensor([[0.5], [-2.0]], requires_grad=True)


def seen():
    """Return the state that Python code reads here."""
    modes = {
        "state.grad": interlock.is_grad_enabled(),
        "state.inference": interlock.is_inference_mode_enabled(),
    }
    return modes | {name: backends.explain(name).value for name in SHOWN}


async def answer(values, delay):
    """Return the result for one example, and the states around an await."""
    before = seen()
    with backends.override({"cudnn.deterministic": True}):
        await asyncio.sleep(delay / 1000)
        in_scope = seen()
    output = library.tensor([values]) @ WEIGHT
    return {
        "before": before,
        "in_scope": in_scope,
        "after": seen(),
        "output": output.tolist()[0],
        "requires_grad": output.requires_grad,
        "library_grad": library.is_grad_enabled(),
    }


def predict(values, delay):
    """Return the answer of the model as JSON."""
    return json.dumps(asyncio.run(answer(values, delay)))


def status():
    """Return the open scopes, known with `INTERLOCK_DEBUG=1`, and the library that computes the model."""
    try:
        scopes = [str(line) for line in state.open_scopes()]
    except errors.NotTracedError:
        scopes = []
    return scopes, library.__name__
