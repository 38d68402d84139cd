"""Raises ImportError in a build without the tensor runtime.

Public modules that need tensors import it before all others.
"""

from interlock._features import HAS_TENSORS, NO_TENSORS

if not HAS_TENSORS:
    raise ImportError(f"a module that needs tensors was imported: {NO_TENSORS}")
