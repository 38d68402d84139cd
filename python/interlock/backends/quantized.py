"""Which engine runs quantized operations."""

from __future__ import annotations

import sys
from typing import Literal

from interlock._core import backends as _native

__all__ = ["QuantizedEngine"]

# <flags of quantized>
engine: Literal["none"]
supported_engines: list[str]
# </flags of quantized>

QuantizedEngine = _native.QuantizedModule

sys.modules[__name__].__class__ = QuantizedEngine
