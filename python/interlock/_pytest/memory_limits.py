"""Limits of the memory of devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock._core import accelerator
from interlock._pytest.source import Source

_PREFIX = "interlock.accelerator.memory"
_SETTERS = {"get_limit": accelerator.set_limit, "get_cache_limit": accelerator.set_cache_limit}


class MemoryLimits(Source):
    """Compares the limits of reserved and of cached memory of the devices that are in use."""

    def read(self) -> object:
        """Return both limits of each device; nothing before a device is used."""
        return accelerator._limits()

    def values(self, reading: Any) -> dict[str, Any]:
        """Return the limits with the calls that return them as names."""
        return {
            f"{_PREFIX}.{name}({index})": limit
            for index, limits in enumerate(reading)
            for name, limit in zip(_SETTERS, limits, strict=True)
        }

    def first(self, name: str, value: Any) -> Any:
        """Return the limit of a device before its first use, which a configuration may have set since."""
        is_configured = accelerator.get_config()["per_process_memory_fraction"] < 1
        return value if is_configured else None

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Set limits. Return the reasons, by name, for those that are refused."""
        refused: dict[str, str] = {}
        for name, limit in wanted.items():
            getter, _, index = name.removeprefix(f"{_PREFIX}.").rstrip(")").partition("(")
            try:
                _SETTERS[getter](limit, int(index))
            except Exception as error:
                refused[name] = str(error)
        return refused
