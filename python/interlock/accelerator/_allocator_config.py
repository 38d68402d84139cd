"""How memory is kept: PyTorch's settings of its caching allocator, as a class and as PyTorch's text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from interlock._core import accelerator as _native


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorConfig:
    """How memory is kept. Fields are PyTorch's keys; `str` gives its text, and `parse` reads that.

    All of it is checked when it is made, and nothing is in force before `memory.set_config`. Raises
    `ArgumentError` for what a key does not take, TypeError for values of another type.

    >>> from interlock.accelerator.memory import AllocatorConfig
    >>> config = AllocatorConfig(max_split_size_mb=64, roundup_power2_divisions={256: 1, ">": 8})
    >>> str(config)
    'max_split_size_mb:64,roundup_power2_divisions:[256:1,>:8]'
    >>> AllocatorConfig.parse(str(config)) == config
    True
    """

    # <keys of the allocator>
    backend: Literal["native", "cudaMallocAsync"] = "native"
    """Which of PyTorch's allocators a program asks for."""
    max_split_size_mb: int | None = None
    """Blocks of at least this size are not split, and serve no smaller requests."""
    max_non_split_rounding_mb: int = 20
    """By how much a block that is not split may be larger than the request that it serves."""
    large_segment_size_mb: int = 20
    """How much is taken from the driver at once to serve requests of 1 to 10 megabytes."""
    roundup_power2_divisions: int | dict[int | Literal[">"], int] = 0
    """Into how many equal steps requests are rounded up between powers of two; 0 is off."""
    garbage_collection_threshold: float = 0.0
    """From which part of the limit on unused blocks go back to the driver, the oldest first; 0 is off."""
    expandable_segments: bool = False
    """Whether a segment is a range of addresses that gets memory as it grows."""
    release_lock_on_cudamalloc: bool = False
    """Whether other threads may use the allocator while the driver is asked for memory."""
    graph_capture_record_stream_reuse: bool = False
    """Whether memory that several streams used is reused in a capture where the graph allows it."""
    per_process_memory_fraction: float = 1.0
    """Which part of the memory of each device may be reserved."""
    throw_on_cudamalloc_oom: bool = False
    """Whether a request that a device has no room for is refused without asking its driver."""
    pinned_use_cuda_host_register: bool = False
    """Whether pinned memory is ordinary memory that is registered with the driver."""
    pinned_num_register_threads: int = 1
    """How many threads touch the pages of pinned memory before it is registered."""
    pinned_use_background_threads: bool = False
    """Whether a thread looks for pinned memory that copies have finished with."""
    pinned_reserve_segment_size_mb: int = 0
    """How much pinned memory is taken at once, to be handed out in pieces and kept for good."""
    pinned_max_round_threshold_mb: int | None = None
    """Requests for pinned memory above this size are not rounded up to a power of two."""
    pinned_max_cached_size_mb: int | None = None
    """Blocks of pinned memory above this size are given back instead of being kept."""
    pinned_free_catch_all: bool = False
    """Whether errors of giving pinned memory back are passed over."""
    caching: bool = True
    """Whether memory is kept for later; never where `PYTORCH_NO_CUDA_MEMORY_CACHING` is set."""
    # </keys of the allocator>

    def __post_init__(self) -> None:
        """Check everything at once, and keep what the core makes of it: no object of the caller's."""
        for name, value in _native.checked_config(_fields_of(self)).items():
            object.__setattr__(self, name, value)

    @classmethod
    def parse(cls, text: str) -> AllocatorConfig:
        """Return the configuration that a text such as `max_split_size_mb:64` stands for.

        Keys that it does not name have their defaults. Raises `ArgumentError` for a value that its key does
        not take and for an unknown key, naming those that there are.
        """
        return cls(**_native.parse_config(text))

    def __str__(self) -> str:
        """Return PyTorch's text: what differs from the defaults. It has no key for `caching`."""
        return _native.config_text(_fields_of(self))

    def __hash__(self) -> int:
        """Go by what `==` compares; a dict of divisions has no hash of its own."""
        return hash((str(self), self.caching))


def _fields_of(config: AllocatorConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(config)}


class ConfigEntry(NamedTuple):
    """What holds for one key."""

    value: Any
    """The value in force."""
    is_default: bool
    """Whether that is the default."""
    source: str
    """Who said so: `default`, the name of an environment variable, or `set by the program`."""
    applies: Literal["now", "on new segments", "never"]
    """When it applies to the devices of this process."""
    reason: str | None
    """Why it never applies; None if it does."""


class ConfigReport(dict[str, ConfigEntry]):
    """What holds for each key, by its name; it shows itself as a table."""

    def __repr__(self) -> str:
        """Return the table."""
        from interlock._console import Cell, Layout, Row, Table

        rows = []
        for name, entry in self.items():
            applies = entry.applies if entry.reason is None else f"{entry.applies}: {entry.reason}"
            rows.append(Row(tuple(map(Cell, (name, str(entry.value), entry.source, applies)))))
        table = Table(("key", "value", "source", "applies"), tuple(rows), indent=0)
        return "\n".join(Layout().table(table))


def get_config() -> AllocatorConfig:
    """Return the configuration in force.

    Unless the program has set one it comes from the environment, which is read once: from the first of
    `INTERLOCK_ALLOC_CONF`, `PYTORCH_ALLOC_CONF` and `PYTORCH_CUDA_ALLOC_CONF` that is set and not empty.
    Raises `ArgumentError`, naming the variable, where that can't be understood.
    """
    return AllocatorConfig(**_native.get_config())


def set_config(config: AllocatorConfig | str) -> None:
    """Put a configuration, or the one that a text stands for, in force in place of the one before.

    Nothing is left over from that: what a text does not name has its default. Only `caching` stays off where
    `PYTORCH_NO_CUDA_MEMORY_CACHING` is set. Raises `ArgumentError` for a text that is not understood and
    TypeError for other types; then all stays as it was.

    >>> from interlock.accelerator import memory
    >>> memory.set_config("max_split_size_mb:64")
    >>> memory.get_config().max_split_size_mb
    64
    >>> memory.set_config(memory.AllocatorConfig())
    """
    given: object = config
    if not isinstance(given, AllocatorConfig | str):
        message = f"set_config takes an AllocatorConfig or a str, got a value of type {type(given).__name__}"
        raise TypeError(message)
    if isinstance(given, str):
        given = AllocatorConfig.parse(given)
    _native.set_config(_fields_of(given))


def config_report() -> ConfigReport:
    """Return for each key its value, who said so, and when it applies to the devices of this process.

    It fixes no driver. Raises `ArgumentError` as `get_config` does.

    >>> from interlock.accelerator import memory
    >>> memory.config_report()["release_lock_on_cudamalloc"].reason
    'it is always so: no lock is held while the driver is called'
    """
    return ConfigReport({name: ConfigEntry(*entry) for name, *entry in _native.config_report()})


# The types are public there.
for _type in (AllocatorConfig, ConfigEntry, ConfigReport):
    _type.__module__ = "interlock.accelerator.memory"
