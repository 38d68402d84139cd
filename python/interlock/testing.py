"""Fault injection for tests of programs that use devices.

`FaultInjector` makes allocations, queued work, copies and whole devices of the host driver fail, without a
GPU: `accelerator.use("host", faults=injector)`.
"""

from __future__ import annotations

from interlock._core.accelerator import FaultInjector, PausedCopies

__all__ = ["FaultInjector", "PausedCopies"]
