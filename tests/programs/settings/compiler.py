"""Functions that write settings of PyTorch, compiled by `torch.compile` and `torch.jit.script`."""

import torch
from interlock import settings
from torch.nn.attention import SDPBackend, sdpa_kernel

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


def attend(x):
    with sdpa_kernel(SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x) * 2


def write_twice(x):
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(1)
    with torch.no_grad():
        return x @ x


def add_one(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x + 1


def use_the_compiler():
    """Use it before settings are enabled: it stores the functions of `torch._C` at its first use."""
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))


def compile_each_setter(enabled):
    if enabled == "late":
        use_the_compiler()
    if enabled:
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
    return found


def compile_while_settings_are_enabled(is_enabled_first):
    if not is_enabled_first:
        use_the_compiler()
    settings.enable("torch")
    found = {}
    x = torch.randn(1, 2, 4, 8)
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        compiled = torch.compile(attend, backend=backend, fullgraph=True)
        found[backend] = torch.allclose(compiled(x), attend(x))
    found["script"] = torch.jit.script(add_one)(torch.ones(1)).item() == 2
    torch._dynamo.reset()
    torch.compile(write_twice, backend="eager")(torch.ones(2, 2))
    found["graph_breaks"] = torch.backends.cudnn.benchmark and torch.get_num_threads() == 1
    # Code that the compiler generated is attributed to the function that it was generated from.
    writes = settings.writes(["torch.backends.cuda.flash_sdp"])
    found["functions"] = sorted({each.function for each in writes})
    found["groups"] = sorted({str(each.group) for each in writes})
    return found
