"""Flash attention 3 and 4: kernels that run their packages on CUDA devices, through PyTorch's tensors.

They have not run on a GPU yet.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import interlock
from interlock import dispatch


def activate_fa3() -> dispatch.RegisteredKernel:
    """Register the kernel of `flash_attn_interface`, and return it."""
    return _register("FA3", importlib.import_module("flash_attn_interface").flash_attn_func)


def activate_fa4() -> dispatch.RegisteredKernel:
    """Register the kernel of `flash_attn.cute.interface`, and return it."""
    return _register("FA4", importlib.import_module("flash_attn.cute.interface").flash_attn_func)


def _register(name: str, flash_attn_func: Callable[..., Any]) -> dispatch.RegisteredKernel:
    torch = importlib.import_module("torch")

    def kernel(
        query: interlock.Tensor,
        key: interlock.Tensor,
        value: interlock.Tensor,
        *,
        scale: float,
        is_causal: bool,
        **_options: object,
    ) -> interlock.Tensor:
        # The packages have the dimensions of queries and heads in the other order.
        operands = [torch.from_dlpack(operand).transpose(1, 2) for operand in (query, key, value)]
        out = flash_attn_func(*operands, softmax_scale=scale, causal=is_causal)
        out = out[0] if isinstance(out, tuple) else out
        return interlock.from_dlpack(out.transpose(1, 2).contiguous())

    return dispatch.register_kernel(
        "scaled_dot_product_attention",
        name,
        kernel,
        condition=_refusal,
        replaces="flash",
        requires={"cuda.flash_sdp": True},
    )


def _refusal(call: dispatch.KernelCall) -> str | None:
    """Return the reason why flash attention cannot run a call, or None."""
    query, key, _ = call.shapes
    if call.device.type != "cuda":
        return f"needs cuda, got {call.device.type}"
    if call.dtype not in (interlock.float16, interlock.bfloat16):
        return f"needs float16 or bfloat16, got {call.dtype}"
    if len(query) != 4:
        return f"needs 4 dimensions, got {len(query)}"
    if call.options["has_mask"]:
        return "needs no attn_mask"
    if call.options["is_causal"] and query[2] != key[2]:
        return f"needs as many queries as keys for is_causal, got {query[2]} and {key[2]}"
    return None
