"""Tools for tests of programs that use devices.

`FaultInjector` makes allocations, work, copies and whole devices of the host driver fail. It needs no GPU:
`accelerator.use("host", faults=injector)`.
"""

from __future__ import annotations

from interlock._core.accelerator import FaultInjector, PausedCopies

__all__ = ["FaultInjector", "PausedCopies"]
