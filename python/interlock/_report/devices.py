"""The devices of this process, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field

from interlock import accelerator
from interlock.errors import InterlockError


@dataclass(frozen=True)
class Device:
    """What a device tells of itself; None where it was not asked or failed to answer."""

    device: str
    name: str | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    multi_processor_count: int | None = None
    more: dict[str, str] = field(default_factory=dict[str, str])
    problem: str | None = None


@dataclass(frozen=True)
class Accelerators:
    """The driver of this process and its devices."""

    driver: str | None
    why_unavailable: str | None
    devices: tuple[Device, ...]


def accelerators(*, with_memory: bool) -> Accelerators:
    """Return the devices of this process. Only where there are some does that start their driver.

    How much of their memory is free is told by a context on each of them, which takes memory itself.
    """
    current = accelerator.current_accelerator()
    count = accelerator.device_count()
    return Accelerators(
        driver=None if current is None else current.type,
        why_unavailable=accelerator.why_unavailable(),
        devices=tuple(_device(index, with_memory) for index in range(count)),
    )


def _device(index: int, with_memory: bool) -> Device:
    """Return what a device tells of itself."""
    current = accelerator.current_accelerator()
    device = f"{current.type}:{index}" if current is not None else str(index)
    try:
        properties = accelerator.device_properties(index)
        free = accelerator.get_memory_info(index)[0] if with_memory else None
    except InterlockError as error:
        return Device(device, problem=str(error))
    return Device(
        device,
        name=properties.name,
        total_memory=properties.total_memory,
        free_memory=free,
        multi_processor_count=properties.multi_processor_count,
        more=dict(properties.more),
    )
