"""The read-only flag of XNNPACK, a library of kernels for CPUs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from interlock._core import backends as _native

__all__ = ["XNNPACKEngine"]

# <flags of xnnpack>
if TYPE_CHECKING:
    enabled: Final[bool] = False
# </flags of xnnpack>

XNNPACKEngine = _native.XnnpackModule

sys.modules[__name__].__class__ = XNNPACKEngine
