"""Everything that the report tells, in one value."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._report import devices, environment, flags, libraries, system
from interlock._report.devices import Accelerators
from interlock._report.environment import Variable
from interlock._report.flags import Flag
from interlock._report.libraries import Library, Runtime
from interlock._report.system import Processor, Versions


@dataclass(frozen=True)
class Report:
    """What this process has and what it is set to."""

    versions: Versions
    processor: Processor
    accelerators: Accelerators
    libraries: tuple[Library, ...]
    openmp: tuple[Runtime, ...]
    flags: tuple[Flag, ...]
    """Those that differ from their default."""
    environment: tuple[Variable, ...]


def collect(*, load: bool) -> Report:
    """Collect the report."""
    # First, because the driver of devices may bring some of them.
    found = libraries.libraries(load=load)
    return Report(
        versions=system.versions(),
        processor=system.processor(),
        accelerators=devices.accelerators(with_memory=False),
        libraries=found,
        openmp=libraries.runtimes(),
        flags=tuple(flag for flag in flags.flags() if flag.differs),
        environment=environment.environment(),
    )
