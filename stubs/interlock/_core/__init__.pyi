from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    tensor as tensor,
)

__all__ = ["__version__", "accelerator", "autograd", "backends", "tensor"]

__version__: str
