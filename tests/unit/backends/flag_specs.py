"""Every flag with test values. A flag of the package without a row here fails `test_every_flag`."""

from __future__ import annotations

from tests.unit.backends.flag_spec import (
    CUDA_MATMUL_PRECISIONS,
    UNSET,
    Flag,
    choice,
    count,
    ids,
    names,
    precision,
    ranking,
    reduction,
    switch,
)

__all__ = ["BY_NAME", "CHANGEABLE", "FLAGS", "READ_ONLY", "STORED", "WRONG", "Flag", "ids", "read_all"]

ATTENTION = ("flash_attention", "efficient_attention", "math", "cudnn_attention", "overrideable")

FLAGS = (
    switch("deterministic_algorithms", False),
    switch("deterministic_algorithms_warn_only", False),
    switch("deterministic_fill_uninitialized_memory", True),
    precision("fp32_precision", on_cuda=False),
    switch("cudnn.enabled", True),
    switch("cudnn.benchmark", False),
    count("cudnn.benchmark_limit", 10, 2**31 - 1),
    switch("cudnn.deterministic", False),
    switch("cudnn.allow_tf32", True, is_view=True),
    choice("cudnn.depthwise_kernel", "auto", "native", "cudnn"),
    precision("cudnn.fp32_precision", on_cuda=True),
    precision("cudnn.conv.fp32_precision", "tf32", on_cuda=True),
    precision("cudnn.rnn.fp32_precision", "tf32", on_cuda=True),
    switch("cuda.matmul.allow_tf32", False, is_view=True),
    reduction("cuda.matmul.allow_fp16_reduced_precision_reduction"),
    reduction("cuda.matmul.allow_bf16_reduced_precision_reduction"),
    switch("cuda.matmul.allow_fp16_accumulation", False),
    switch("cuda.matmul.prefer_cublaslt_grouped_gemm", False),
    precision("cuda.matmul.fp32_precision", on_cuda=True, values=CUDA_MATMUL_PRECISIONS),
    switch("cuda.flash_sdp", True),
    switch("cuda.mem_efficient_sdp", True),
    switch("cuda.math_sdp", True),
    switch("cuda.cudnn_sdp", True),
    switch("cuda.fp16_bf16_reduction_math_sdp", False),
    ranking("cuda.sdp_priority", ATTENTION),
    choice("cuda.linalg_library", "default", "magma", "cusolver"),
    choice(
        *("cuda.blas_library", "default", "cublaslt", "cublas", "ck"),
        aliases=(("hipblas", "cublas"), ("hipblaslt", "cublaslt")),
    ),
    choice("cuda.rocm_fa_library", "default", "aotriton", "ck"),
    count("cuda.cublas_workspace", 8_519_680),
    count("cuda.cublaslt_workspace", 1_048_576),
    switch("mkldnn.enabled", True),
    switch("mkldnn.deterministic", False),
    choice("mkldnn.numerics", "hardware", "model"),
    Flag(
        "mkldnn.allow_tf32",
        default=UNSET,
        others=(True, False),
        wrong_types=(1, 0, "yes", 1.5, []),
        wrong_values=(),
        allowed=("a bool or None",),
        spellings=((None, None),),
    ),
    precision("mkldnn.fp32_precision", on_cuda=False),
    precision("mkldnn.matmul.fp32_precision", on_cuda=False),
    precision("mkldnn.conv.fp32_precision", on_cuda=False),
    precision("mkldnn.rnn.fp32_precision", on_cuda=False),
    switch("miopen.immediate", False),
    switch("mha.fastpath", True),
    switch("nnpack.enabled", True),
    switch("opt_einsum.enabled", True),
    choice("opt_einsum.strategy", "auto", "greedy", "optimal"),
    *(
        switch(f"python_native.{dsl}.enabled", True)
        for dsl in ("cutedsl", "flydsl", "helion", "python", "triton")
    ),
    names("python_native.disabled_operations"),
    names("python_native.disabled_dispatch_keys"),
    choice("quantized.engine", "native", "onednn", "none"),
)
READ_ONLY: dict[str, object] = {
    "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k": True,
    "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k": True,
    "quantized.supported_engines": ["native", "onednn", "none"],
    "xnnpack.enabled": False,
}
"""Read-only flags with their values."""

BY_NAME = {flag.name: flag for flag in FLAGS}
CHANGEABLE = tuple(flag for flag in FLAGS if flag.others)
"""The flags that accept a value other than their default."""
STORED = tuple(flag for flag in CHANGEABLE if not flag.is_view)
"""The flags of `CHANGEABLE` that are no aliases."""
WRONG = [(flag, wrong) for flag in FLAGS for wrong in flag.wrong]


def read_all() -> dict[str, object]:
    """Return the effective value of every flag on this thread."""
    return {flag.name: flag.get() for flag in FLAGS}
