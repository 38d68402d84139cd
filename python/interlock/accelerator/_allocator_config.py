"""The configuration of the caching allocator: a dataclass with PyTorch's keys, and PyTorch's text format."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from interlock._core import accelerator as _native
from interlock._homes import set_home


@dataclass(frozen=True, kw_only=True)
class AllocatorConfig:
    """A configuration of the caching allocator. The fields are the keys of `PYTORCH_ALLOC_CONF`.

    The values are validated on construction. `memory.set_config` makes the configuration active. `str`
    returns it in PyTorch's text format, and `parse` reads that format.

    Raises:
        ArgumentError: A key does not accept its value.
        TypeError: A value has the wrong type.

    Example:
        >>> from interlock.accelerator.memory import AllocatorConfig
        >>> config = AllocatorConfig(max_split_size_mb=64, roundup_power2_divisions={256: 1, ">": 8})
        >>> str(config)
        'max_split_size_mb:64,roundup_power2_divisions:[256:1,>:8]'
        >>> AllocatorConfig.parse(str(config)) == config
        True

    """

    # <keys of the allocator>
    backend: Literal["native", "cudaMallocAsync"] = "native"
    """The allocator of PyTorch to use, for compatibility."""
    max_split_size_mb: int | None = None
    """Blocks of at least this size are not split, and serve no smaller requests."""
    max_non_split_rounding_mb: int = 20
    """The megabytes by which a block that is not split may exceed its request."""
    large_segment_size_mb: int = 20
    """The size of segments for requests of 1 to 10 megabytes."""
    roundup_power2_divisions: int | dict[int | Literal[">"], int] = 0
    """The number of equal steps between powers of two to which requests are rounded up; 0 disables it."""
    garbage_collection_threshold: float = 0.0
    """The fraction of the limit above which unused blocks are released, oldest first; 0 disables it."""
    expandable_segments: bool = False
    """Whether segments reserve addresses and map memory as they grow."""
    release_lock_on_cudamalloc: bool = False
    """Whether other threads may use the allocator while the driver allocates memory."""
    graph_capture_record_stream_reuse: bool = False
    """Whether memory used by several streams is reused during a capture where the graph allows it."""
    per_process_memory_fraction: float = 1.0
    """The fraction of the memory of each device that may be reserved."""
    throw_on_cudamalloc_oom: bool = False
    """Whether requests that exceed the free memory of a device fail without an allocation by its driver."""
    pinned_use_cuda_host_register: bool = False
    """Whether pinned memory is ordinary memory that is registered with the driver."""
    pinned_num_register_threads: int = 1
    """The number of threads that touch the pages of pinned memory before it is registered."""
    pinned_use_background_threads: bool = False
    """Whether a background thread polls the events of pinned memory."""
    pinned_reserve_segment_size_mb: int = 0
    """The size of a segment of pinned memory that is split into blocks and never released."""
    pinned_max_round_threshold_mb: int | None = None
    """Requests for pinned memory above this size are not rounded up to a power of two."""
    pinned_max_cached_size_mb: int | None = None
    """Blocks of pinned memory above this size are released instead of cached."""
    pinned_free_catch_all: bool = False
    """Whether errors are ignored when pinned memory is released."""
    caching: bool = True
    """Whether freed memory is cached; never if `PYTORCH_NO_CUDA_MEMORY_CACHING` is set."""
    # </keys of the allocator>

    def __post_init__(self) -> None:
        """Validate all fields, and store the converted values instead of the objects of the caller."""
        for name, value in _native.checked_config(_fields_of(self)).items():
            object.__setattr__(self, name, value)

    @classmethod
    def parse(cls, text: str) -> AllocatorConfig:
        """Parse a configuration in PyTorch's text format, such as `max_split_size_mb:64`.

        Keys that the text does not contain have their defaults.

        Args:
            text: `key:value` pairs, separated by commas.

        Raises:
            ArgumentError: A key is unknown, or does not accept its value.
            TypeError: `text` is not a str.

        """
        return cls(**_native.parse_config(text, "AllocatorConfig.parse"))

    def __str__(self) -> str:
        """Return the non-default fields in PyTorch's text format, which has no key for `caching`."""
        return _native.config_text(_fields_of(self))

    def __hash__(self) -> int:
        """Return a hash that is consistent with `==`. The dict of divisions itself is not hashable."""
        return hash((str(self), self.caching))


def _fields_of(config: AllocatorConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(config)}


class ConfigEntry(NamedTuple):
    """The value of one key of the allocator configuration, its source, and whether it takes effect."""

    value: Any
    """The active value."""
    is_default: bool
    """Whether the value is the default."""
    source: str
    """Where the value comes from: `default`, an environment variable, or `set by the program`."""
    applies: Literal["now", "on new segments", "never"]
    """When the value takes effect on the devices of this process."""
    reason: str | None
    """Why the value never takes effect; None if it does."""


class ConfigReport(dict[str, ConfigEntry]):
    """The entries of all keys by name. `repr` returns a table."""

    def __repr__(self) -> str:
        """Return the entries as a table."""
        from interlock._console import Cell, Layout, Row, Table

        rows = []
        for name, entry in self.items():
            applies = entry.applies if entry.reason is None else f"{entry.applies}: {entry.reason}"
            rows.append(Row(tuple(map(Cell, (name, str(entry.value), entry.source, applies)))))
        table = Table(("key", "value", "source", "applies"), tuple(rows), indent=0)
        return "\n".join(Layout().table(table))


def get_config() -> AllocatorConfig:
    """Return the active configuration of the caching allocator.

    Unless `set_config` was called, it is read once from the environment, from the first non-empty variable of
    `INTERLOCK_ALLOC_CONF`, `PYTORCH_ALLOC_CONF` and `PYTORCH_CUDA_ALLOC_CONF`.

    Raises:
        ArgumentError: The variable is invalid. The message names it.

    """
    return AllocatorConfig(**_native.get_config())


def set_config(config: AllocatorConfig | str) -> None:
    """Replace the active configuration of the caching allocator.

    Keys that are not given have their defaults. `caching` stays False if `PYTORCH_NO_CUDA_MEMORY_CACHING` is
    set.

    Args:
        config: A configuration, or its text, such as `max_split_size_mb:64`.

    Raises:
        ArgumentError: The text is invalid. The active configuration is not changed.
        TypeError: `config` is neither an AllocatorConfig nor a str.

    Example:
        >>> from interlock.accelerator import memory
        >>> memory.set_config("max_split_size_mb:64")
        >>> memory.get_config().max_split_size_mb
        64
        >>> memory.set_config(memory.AllocatorConfig())

    """
    value: object = config
    if not isinstance(value, AllocatorConfig | str):
        kind = type(value).__name__
        raise TypeError(f"set_config: config must be an AllocatorConfig or a str, got {kind}")
    if isinstance(value, str):
        value = AllocatorConfig(**_native.parse_config(value, "memory.set_config"))
    _native.set_config(_fields_of(value))


def config_report() -> ConfigReport:
    """Return the active value of each key, its source, and when it takes effect on this process's devices.

    Does not initialize a driver.

    Raises:
        ArgumentError: The environment variable of the configuration is invalid.

    Example:
        >>> from interlock.accelerator import memory
        >>> memory.config_report()["release_lock_on_cudamalloc"].reason
        'no lock is ever held while the driver is called'

    """
    return ConfigReport({name: ConfigEntry(*entry) for name, *entry in _native.config_report()})


# The public module of these types.
set_home("interlock.accelerator.memory", AllocatorConfig, ConfigEntry, ConfigReport)
