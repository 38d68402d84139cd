from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
)

__all__ = ["__version__", "accelerator", "autograd", "backends"]

__version__: str
