"""Fault injection and settings for tests; the pytest plugin has fixtures for both.

`FaultInjector` makes allocations, queued work, copies and whole devices of the host driver fail, without a
GPU: `accelerator.use("host", faults=injector)`. `Scenario` has faults as data. `HostDevices` and
`ScopedSettings` are what the fixtures `interlock_devices` and `interlock_settings` return. `detect_races`
finds work of streams that nothing orders.
"""

from __future__ import annotations

from interlock._core.accelerator import FaultInjector, PausedCopies

__all__ = [
    "Fault",
    "FaultInjector",
    "HostDevices",
    "PausedCopies",
    "Race",
    "RaceAccess",
    "Races",
    "Scenario",
    "ScopedSettings",
    "detect_races",
]

from interlock._faults import Fault, Scenario
from interlock._homes import set_home
from interlock._lazy import list_exports
from interlock._pytest.host_devices import HostDevices
from interlock._pytest.scoped_settings import ScopedSettings
from interlock._races import Race, RaceAccess, Races, detect_races

set_home(__name__, Fault, HostDevices, Race, RaceAccess, Races, Scenario, ScopedSettings, detect_races)
list_exports(globals())
