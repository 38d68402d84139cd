"""Selection of the kernels of scaled-dot-product attention, as in `torch.nn.attention`.

The names are those of `interlock.backends.cuda`.
"""

from interlock.backends.cuda import (
    SDPAParams,
    SDPBackend,
    can_use_efficient_attention,
    can_use_flash_attention,
    sdpa_kernel,
)

__all__ = [
    "SDPAParams",
    "SDPBackend",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "sdpa_kernel",
]
