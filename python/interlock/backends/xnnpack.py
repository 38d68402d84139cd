"""Whether operations run on XNNPACK."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["XNNPACKEngine"]

# <flags of xnnpack>
enabled: bool
# </flags of xnnpack>

XNNPACKEngine = _native.XnnpackModule

sys.modules[__name__].__class__ = XNNPACKEngine
