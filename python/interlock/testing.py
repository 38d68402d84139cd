"""Tools for tests of programs that use devices.

`Faults` makes allocations, work, copies and whole devices of the host driver fail, which needs no GPU:
`accelerator.use("host", faults=faults)`.
"""

from __future__ import annotations

from interlock._core.accelerator import CopyHold, Faults

__all__ = ["CopyHold", "Faults"]
