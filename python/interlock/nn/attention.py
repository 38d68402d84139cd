"""Selection of the kernels of scaled-dot-product attention, as in `torch.nn.attention`.

The names of kernels are those of `interlock.backends.cuda`. An implementation of flash attention is a kernel
of another library, which `activate_flash_attention_impl` registers in the process.
"""

from interlock._core.dispatch import (
    _restore_flash_attention_impl,
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
)
from interlock.backends.cuda import (
    SDPAParams,
    SDPBackend,
    can_use_efficient_attention,
    can_use_flash_attention,
    sdpa_kernel,
)
from interlock.nn._flash_attention import activate_fa3, activate_fa4

__all__ = [
    "SDPAParams",
    "SDPBackend",
    "activate_flash_attention_impl",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Remove the active implementation of flash attention: `remove` of its handle is called.

    Args:
        _raise_warn: Whether a warning is logged if none is active.

    """
    if not _restore_flash_attention_impl() and _raise_warn:
        import logging

        logging.getLogger(__name__).warning("restore_flash_attention_impl: no implementation is active")


register_flash_attention_impl("FA3", register_fn=activate_fa3)
register_flash_attention_impl("FA4", register_fn=activate_fa4)
