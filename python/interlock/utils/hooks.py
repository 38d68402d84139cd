"""Handles of hooks.

A build without the tensor runtime lacks this module.
"""

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.tensor import RemovableHandle

__all__ = ["RemovableHandle"]
