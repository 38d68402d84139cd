"""Compiles functions that write settings of PyTorch, and prints whether each compiles.

The argument is when settings are enabled: `first`, `late` (after the first use of the compiler) or not.
"""

import json
import sys

import torch
from interlock import settings
from torch.nn.attention import SDPBackend, sdpa_kernel

(when,) = map(json.loads, sys.argv[1:])
backends = torch.backends
matmul = backends.cuda.matmul


def cudnn_flags():
    with backends.cudnn.flags(enabled=False):
        pass


def detect_anomaly():
    with torch.autograd.set_detect_anomaly(True):
        pass


def attention_kernel():
    with sdpa_kernel(SDPBackend.MATH):
        pass


SETTERS = {
    "float32 matmul": lambda: torch.set_float32_matmul_precision("high"),
    "determinism": lambda: torch.use_deterministic_algorithms(True),
    "dtype": lambda: torch.set_default_dtype(torch.float64),
    "device": lambda: torch.set_default_device("cpu"),
    "threads": lambda: torch.set_num_threads(1),
    "anomaly": lambda: torch.set_anomaly_enabled(True),
    "warnings": lambda: torch.set_warn_always(True),
    "denormals": lambda: torch.set_flush_denormal(True),
    "flash": lambda: backends.cuda.enable_flash_sdp(False),
    "benchmark": lambda: setattr(backends.cudnn, "benchmark", True),
    "tf32": lambda: setattr(matmul, "allow_tf32", True),
    "reduction": lambda: setattr(matmul, "allow_fp16_reduced_precision_reduction", False),
    "engine": lambda: setattr(backends.quantized, "engine", "fbgemm"),
    "onednn": lambda: setattr(backends.mkldnn, "enabled", False),
    "einsum": lambda: setattr(backends.opt_einsum, "enabled", False),
    "node": lambda: setattr(backends.cudnn.conv, "fp32_precision", "ieee"),
    "precision": lambda: setattr(backends, "fp32_precision", "ieee"),
    "fastpath": lambda: backends.mha.set_fastpath_enabled(False),
    "blas": lambda: backends.cuda.preferred_blas_library("cublaslt"),
    "function of C": lambda: torch._C._set_cudnn_enabled(False),
    "cudnn flags": cudnn_flags,
    "detect anomaly": detect_anomaly,
    "attention kernel": attention_kernel,
}
if when == "late":
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
if when:
    settings.enable("torch")
found = {}
for name, write in SETTERS.items():
    for fullgraph in (False, True):

        def program(x):
            write()
            return x + 1

        torch._dynamo.reset()
        try:
            torch.compile(program, backend="aot_eager", fullgraph=fullgraph)(torch.ones(2))
            outcome = "compiled"
        except Exception as error:
            outcome = type(error).__name__
        found[f"{name}, fullgraph={fullgraph}"] = outcome
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.use_deterministic_algorithms(False)
print(json.dumps(found))
