"""Fault injection and settings for tests; the pytest plugin has fixtures for both.

`FaultInjector` makes allocations, queued work, copies and whole devices of the host driver fail, without a
GPU: `accelerator.use("host", faults=injector)`. `HostDevices` and `ScopedSettings` are what the fixtures
`interlock_devices` and `interlock_settings` return.
"""

from __future__ import annotations

from interlock._core.accelerator import FaultInjector, PausedCopies

__all__ = ["FaultInjector", "HostDevices", "PausedCopies", "ScopedSettings"]

from interlock._pytest.host_devices import HostDevices
from interlock._pytest.scoped_settings import ScopedSettings

for _type in (HostDevices, ScopedSettings):
    _type.__module__ = __name__
