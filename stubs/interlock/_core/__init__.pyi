from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    dispatch as dispatch,
    state as state,
    tensor as tensor,
)

__all__ = ["__version__", "accelerator", "autograd", "backends", "dispatch", "state", "tensor"]

__version__: str
