import json

import interlock
from interlock import backends
from interlock.backends import cuda

tensor = interlock.ones(2, 2)
params = cuda.SDPAParams(tensor, tensor, tensor, None, 0.0, False, False)
used = {"SDPAParams", "SDPBackend", "cuBLASModule", "matmul", "cufft_plan_cache"}
used |= {"cuFFTPlanCache", "cuFFTPlanCacheManager", "cuFFTPlanCacheAttrContextProp"}


def call(name, *arguments):
    used.add(name)
    return getattr(cuda, name)(*arguments)


before = backends.snapshot()
for name in ("flash", "mem_efficient", "math", "cudnn"):
    call(f"enable_{name}_sdp", not call(f"{name}_sdp_enabled"))
call("allow_fp16_bf16_reduction_math_sdp", not call("fp16_bf16_reduction_math_sdp_allowed"))
for name, library in (("linalg", "magma"), ("blas", "cublaslt"), ("rocm_fa", "ck")):
    assert call(f"preferred_{name}_library", library) is call(f"preferred_{name}_library")
    call(f"preferred_{name}_library", "default")
for name in ("cublas", "cublaslt", "blas"):
    call(f"{name}_workspace_size", 2 * call(f"{name}_workspace_size"))
for name in ("flash", "efficient", "cudnn"):
    call(f"can_use_{name}_attention", params)
for name in ("is_built", "is_flash_attention_available", "is_ck_sdpa_available"):
    call(name)
with call("sdpa_kernel", list(cuda.SDPBackend)[1:], True):
    pass
assert cuda.cuBLASModule().fp32_precision == cuda.matmul.fp32_precision
backends.restore(before)
assert backends.snapshot() == before
result = sorted(name for name in cuda.__all__ if name not in used and not name.startswith("_"))

print("\n" + json.dumps(result))
