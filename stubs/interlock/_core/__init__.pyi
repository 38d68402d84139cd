from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    dispatch as dispatch,
    state as state,
    tensor as tensor,
)

__all__ = [
    "LIBRARY",
    "__version__",
    "accelerator",
    "autograd",
    "backends",
    "dispatch",
    "state",
    "tensor",
]

__version__: str

LIBRARY: str
"""The file that contains the extension module: a shared library, or the program that registered its copy."""

_C_API: object
"""The capsule of the C table, for extension modules in C, C++ and Rust: see `interlock.get_include`."""
