"""Options of the process that functions of interlock set: of the allocator, histories, backward passes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from interlock._core import accelerator
from interlock._features import HAS_TENSORS
from interlock._pytest.source import Source
from interlock.accelerator import memory
from interlock.errors import ArgumentError

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import (
        _stream_options,
        set_override_stale_capture_stream,
        set_warn_on_accumulate_grad_stream_mismatch,
    )

    _SETTERS: tuple[Callable[[bool], None], ...] = (
        set_warn_on_accumulate_grad_stream_mismatch,
        set_override_stale_capture_stream,
    )
else:
    _SETTERS = ()

    def _stream_options() -> tuple[bool, ...]:
        return ()


_VARIABLES = ("INTERLOCK_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
_UNCACHED = "PYTORCH_NO_CUDA_MEMORY_CACHING"
_CONFIG = "interlock.accelerator.memory.set_config()"
_HISTORY = "interlock.accelerator.memory.history()"
_OF_GRAPH = "interlock.autograd.graph."


class Reading(NamedTuple):
    """The values that `ProcessOptions` compares."""

    config: dict[str, Any] | None
    """The fields that the program has set; the environment is not read."""
    recording: int | None
    """The number of the history that is recorded."""
    streams: tuple[bool, ...]


class ProcessOptions(Source):
    """Compares options that belong to the process and to no device."""

    def read(self) -> object:
        """Return all options."""
        return Reading(accelerator._program_config(), accelerator._active_recording(), _stream_options())

    def values(self, reading: Reading) -> dict[str, Any]:
        """Return the options with the functions that set them as names."""
        names = (f"{_OF_GRAPH}{each.__name__}()" for each in _SETTERS)
        recording = None if reading.recording is None else f"recording {reading.recording}"
        return {
            _CONFIG: _config(reading.config),
            _HISTORY: recording,
            **dict(zip(names, reading.streams, strict=True)),
        }

    def first(self, name: str, value: Any) -> Any:
        """Return the value: each reading has all names."""
        return value

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Restore options. Return the reasons, by name, for those that cannot be."""
        refused: dict[str, str] = {}
        if _CONFIG in wanted:
            if wanted[_CONFIG] is None:
                accelerator._unset_config()
            else:
                memory.set_config(memory.AllocatorConfig(**wanted[_CONFIG]))
        if _HISTORY in wanted:
            accelerator._stop_recording()
            if wanted[_HISTORY] is not None:
                refused[_HISTORY] = "a history that was stopped or replaced does not begin again"
        for setter in _SETTERS:
            name = f"{_OF_GRAPH}{setter.__name__}()"
            if name in wanted:
                setter(wanted[name])
        return refused


def _config(fields: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the fields that are no defaults; None if the environment sets these, as before `set_config`."""
    if fields is None or memory.AllocatorConfig(**fields) == _of_environment():
        return None
    default = memory.AllocatorConfig()
    return {name: value for name, value in fields.items() if value != getattr(default, name)}


def _of_environment() -> memory.AllocatorConfig | None:
    """Return the configuration of the environment; None if it is invalid."""
    text = next(filter(None, map(os.environ.get, _VARIABLES)), "")
    try:
        config = memory.AllocatorConfig.parse(text)
    except ArgumentError:
        return None
    return dataclasses.replace(config, caching=_UNCACHED not in os.environ)
