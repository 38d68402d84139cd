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
    "__features__",
    "__version__",
    "accelerator",
    "autograd",
    "backends",
    "dispatch",
    "state",
    "tensor",
]

__version__: str

__features__: tuple[str, ...]
"""The optional parts that were compiled in: ``"tensor"``, the tensor runtime and its operations."""

LIBRARY: str
"""The file that contains the extension module: a shared library, or the program that registered its copy."""

_C_API: object
"""The capsule of the C table, for extension modules in C, C++ and Rust: see `interlock.get_include`."""
