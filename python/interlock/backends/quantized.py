"""The flag that selects the engine of quantized operations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Literal

from interlock._core import backends as _native

__all__ = ["QuantizedEngine"]

# <flags of quantized>
engine: Literal["native", "onednn", "none"]
if TYPE_CHECKING:
    supported_engines: Final[list[str]] = ["native", "onednn", "none"]
# </flags of quantized>

QuantizedEngine = _native.QuantizedModule

sys.modules[__name__].__class__ = QuantizedEngine
