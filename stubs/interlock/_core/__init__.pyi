from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    state as state,
    tensor as tensor,
    trace as trace,
)

__all__ = ["__version__", "accelerator", "autograd", "backends", "state", "tensor", "trace"]

__version__: str
