"""Everything that the report tells, in one value."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._report import devices, environment, flags, libraries, system


@dataclass(frozen=True)
class Report:
    """What this process has and what it is set to."""

    versions: system.Versions
    processor: system.Processor
    accelerators: devices.Accelerators
    libraries: tuple[libraries.Library, ...]
    openmp: tuple[libraries.Runtime, ...]
    flags: tuple[flags.Flag, ...]
    """Those that differ from their default."""
    environment: tuple[environment.Variable, ...]


def collect(*, load: bool) -> Report:
    """Collect the report. Libraries are looked at first: devices may bring some of them."""
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
