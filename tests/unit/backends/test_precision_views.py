"""The older names of float32 precision can be read for any value of the newer ones, unlike in PyTorch."""

from __future__ import annotations

import itertools

import interlock
import pytest
from interlock import backends
from interlock.backends import cuda, cudnn, mkldnn

pytestmark = pytest.mark.usefixtures("restored")

CUDA = ("none", "ieee", "tf32")
CUDA_MATMUL = (*CUDA, "bfx9")
MKLDNN = (*CUDA, "bf16")


@pytest.mark.parametrize("generic", MKLDNN)
@pytest.mark.parametrize(("conv", "rnn"), [*itertools.product(CUDA, CUDA)])
def test_cudnn_allow_tf32_reads_any_two_nodes(conv: str, rnn: str, generic: str) -> None:
    names = {"cudnn.conv.fp32_precision": conv, "cudnn.rnn.fp32_precision": rnn}
    with backends.override(fp32_precision=generic), backends.override(**names):
        both = cudnn.conv.fp32_precision == "tf32" == cudnn.rnn.fp32_precision
        assert cudnn.allow_tf32 is both


@pytest.mark.parametrize("older", ["highest", "high", "medium"])
@pytest.mark.parametrize(("of_cuda", "of_mkldnn"), [*itertools.product(CUDA_MATMUL, MKLDNN)])
def test_float32_matmul_precision_reads_any_two_nodes(older: str, of_cuda: str, of_mkldnn: str) -> None:
    interlock.set_float32_matmul_precision(older)  # type: ignore[arg-type]
    assert interlock.get_float32_matmul_precision() == older
    names = {"cuda.matmul.fp32_precision": of_cuda, "mkldnn.matmul.fp32_precision": of_mkldnn}
    with backends.override(**names):
        held = {cuda.matmul.fp32_precision, mkldnn.matmul.fp32_precision}
        expected = "medium" if "bf16" in held else "high" if "tf32" in held else "highest"
        assert interlock.get_float32_matmul_precision() == expected
        assert cuda.matmul.allow_tf32 is (cuda.matmul.fp32_precision == "tf32")
