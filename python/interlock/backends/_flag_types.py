"""The type of what `backends.override` takes. Made from the table of flags by `make generate`."""

from typing import Literal, TypedDict

Flags = TypedDict(
    "Flags",
    {
        "deterministic_algorithms": bool,
        "deterministic_algorithms_warn_only": bool,
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
        "cuda.flash_sdp": bool,
        "cuda.mem_efficient_sdp": bool,
        "cuda.math_sdp": bool,
        "cuda.cudnn_sdp": bool,
        "cuda.fp16_bf16_reduction_math_sdp": bool,
        "cuda.sdp_priority": tuple[
            Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"], ...
        ]
        | list[Literal["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"]],
        "cuda.linalg_library": Literal["default", "cusolver", "magma"],
        "cuda.blas_library": Literal["default", "cublas", "cublaslt", "ck", "hipblas", "hipblaslt"],
        "cuda.rocm_fa_library": Literal["default", "aotriton", "ck"],
        "cuda.cublas_workspace": int,
        "cuda.cublaslt_workspace": int,
        "mkldnn.enabled": bool,
        "mkldnn.deterministic": bool,
        "mkldnn.allow_tf32": bool | None,
        "miopen.immediate": bool,
        "mha.fastpath": bool,
        "nnpack.enabled": bool,
        "opt_einsum.enabled": bool,
        "opt_einsum.strategy": Literal["auto", "greedy", "optimal"],
        "quantized.engine": Literal["none"],
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
