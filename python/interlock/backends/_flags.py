"""The type of what `backends.override` takes. Made from the table of flags by `make generate`."""

from typing import Literal, TypedDict

Flags = TypedDict(
    "Flags",
    {
        "cudnn.enabled": bool,
        "cudnn.benchmark": bool,
        "cudnn.benchmark_limit": int,
        "cudnn.deterministic": bool,
        "cudnn.depthwise_kernel": Literal["auto", "cudnn", "native"],
        "cuda.matmul.allow_fp16_reduced_precision_reduction": bool
        | tuple[bool]
        | tuple[bool, bool]
        | list[bool],
        "cuda.matmul.allow_bf16_reduced_precision_reduction": bool
        | tuple[bool]
        | tuple[bool, bool]
        | list[bool],
        "cuda.matmul.allow_fp16_accumulation": bool,
        "mkldnn.enabled": bool,
        "mkldnn.deterministic": bool,
        "mkldnn.allow_tf32": bool | None,
        "fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "cudnn.fp32_precision": Literal["none", "ieee", "tf32"],
        "mkldnn.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "cuda.matmul.fp32_precision": Literal["none", "ieee", "tf32"],
        "cudnn.conv.fp32_precision": Literal["none", "ieee", "tf32"],
        "cudnn.rnn.fp32_precision": Literal["none", "ieee", "tf32"],
        "mkldnn.matmul.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "mkldnn.conv.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "mkldnn.rnn.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "cudnn.allow_tf32": bool,
        "cuda.matmul.allow_tf32": bool,
    },
    total=False,
)
