"""Reads a memory snapshot that interlock or PyTorch wrote with `pickle`.

A pickle can name any function to call. `_PlainUnpickler` refuses every name, so that only plain data is read:
numbers, text, bytes, lists, tuples and dicts. The data is then checked and converted to dataclasses.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

ALLOCATED = "active_allocated"
FREE = "inactive"
# A block that was freed while queued work uses it has one of several names in PyTorch.
BLOCK_STATES = (ALLOCATED, "active_awaiting_free", "active_pending_free", FREE)


class SnapshotError(Exception):
    """A file cannot be read as a memory snapshot."""


@dataclass(frozen=True)
class Frame:
    """A frame of a recorded stack."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} {self.function}"


Stack = tuple[Frame, ...]
"""The frames of a recorded stack, the innermost first; empty if none was recorded."""


@dataclass(frozen=True)
class Block:
    """A block of a segment."""

    address: int
    size: int
    requested: int
    """Requested bytes; 0 for a free block."""
    state: str
    stack: Stack


@dataclass(frozen=True)
class Segment:
    """Memory that the allocator reserved from the driver with one call."""

    device: int
    address: int
    size: int
    stream: int
    kind: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Event:
    """An event of the allocator."""

    action: str
    address: int
    """0 if the event has none."""
    size: int
    stream: int
    time_us: int | None
    """Microseconds since the Unix epoch; older versions of PyTorch do not record it."""
    stack: Stack


@dataclass(frozen=True)
class Snapshot:
    """The segments of all devices, and the recorded events of each device, the oldest first."""

    segments: tuple[Segment, ...]
    traces: tuple[tuple[Event, ...], ...]

    def devices(self) -> list[int]:
        """Return the indices of the devices that have segments or events."""
        traced = {device for device, trace in enumerate(self.traces) if trace}
        return sorted(traced | {segment.device for segment in self.segments})


def load(path: str) -> Snapshot:
    """Read a snapshot: a dict with segments and events, or a list of segments.

    Args:
        path: The file, as `dump_snapshot` of interlock or PyTorch writes it.

    Raises:
        SnapshotError: The file cannot be read, is not a pickle of plain data, or is not a snapshot.

    """
    try:
        with open(path, "rb") as file:
            data = _PlainUnpickler(file).load()
    except OSError as error:
        raise SnapshotError(f'cannot read "{path}": {os.strerror(error.errno or 0)}') from error
    except _ForbiddenNameError as error:
        raise SnapshotError(f'"{path}" is not a memory snapshot: {error}') from error
    # A damaged pickle raises nearly any exception, among them MemoryError for a length that is too large.
    except Exception as error:
        raise SnapshotError(f'"{path}" is not a pickle, or is damaged: {error}') from error
    try:
        return _snapshot(data)
    except _InvalidError as error:
        raise SnapshotError(f'"{path}" is not a memory snapshot: {error}') from error


class _ForbiddenNameError(pickle.UnpicklingError):
    """A pickle contains more than plain data."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that imports nothing, and so calls nothing."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise _ForbiddenNameError(f'it refers to "{module_name}.{global_name}", but must be plain data')

    def persistent_load(self, pid: object, /) -> NoReturn:
        raise _ForbiddenNameError("it refers to data outside the file")


class _InvalidError(Exception):
    """A value does not have the expected type; the message says where."""


def _snapshot(data: object) -> Snapshot:
    if isinstance(data, list):
        data = {"segments": data}
    if not isinstance(data, dict) or not {"segments", "device_traces"} & data.keys():
        raise _InvalidError(
            f"it must be a dict with segments or device_traces, or a list of segments, got {_type(data)}"
        )
    segments = _Record(data, "the snapshot").records("segments")
    traces = _list(data.get("device_traces", []), "device_traces")
    return Snapshot(
        tuple(_segment(segment) for segment in segments),
        tuple(
            tuple(_event(_Record(entry, where)) for entry, where in _items(trace, f"device_traces[{device}]"))
            for device, trace in enumerate(traces)
        ),
    )


def _segment(segment: _Record) -> Segment:
    address = segment.integer("address", 0)
    blocks = []
    position = address
    for block in segment.records("blocks"):
        # Versions of PyTorch before 2.1 do not record the addresses of blocks.
        blocks.append(_block(block, position))
        position += blocks[-1].size
    return Segment(
        device=segment.integer("device", 0),
        address=address,
        size=segment.integer("total_size"),
        stream=segment.integer("stream", 0),
        kind=segment.text("segment_type", ""),
        blocks=tuple(blocks),
    )


def _block(block: _Record, position: int) -> Block:
    state = block.text("state")
    if state not in BLOCK_STATES:
        raise _InvalidError(f'{block.where}: state must be one of {", ".join(BLOCK_STATES)}, got "{state}"')
    size = block.integer("size")
    return Block(
        address=block.integer("address", position),
        size=size,
        requested=0 if state == FREE else block.integer("requested_size", size),
        state=state,
        stack=block.stack(),
    )


def _event(entry: _Record) -> Event:
    return Event(
        action=entry.text("action"),
        address=entry.integer("addr", 0),
        size=entry.integer("size"),
        stream=entry.integer("stream", 0),
        time_us=entry.optional_integer("time_us"),
        stack=entry.stack(),
    )


class _Record:
    """A dict of the pickled data, whose values are checked when they are read."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise _InvalidError(f"{where} must be a dict, got {_type(data)}")
        self.data: Mapping[Any, Any] = data
        self.where = where

    def integer(self, key: str, default: int | None = None) -> int:
        """Return an int that is not negative. A missing key is an error unless there is a default."""
        value = self._value(key, default)
        if type(value) is not int or value < 0:
            shown = value if type(value) is int else _type(value)
            raise _InvalidError(f"{self.where}: {key} must be an int of at least 0, got {shown}")
        return value

    def optional_integer(self, key: str) -> int | None:
        """Return an int that is not negative, or None if the key is missing."""
        return self.integer(key) if key in self.data else None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a str. A missing key is an error unless there is a default."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise _InvalidError(f"{self.where}: {key} must be a str, got {_type(value)}")
        return value

    def _value(self, key: str, default: object) -> Any:
        if key in self.data:
            return self.data[key]
        if default is None:
            raise _InvalidError(f'{self.where} has no "{key}"')
        return default

    def records(self, key: str) -> Iterator[_Record]:
        """Yield the dicts of a list; a missing list is empty."""
        for item, where in _items(self.data.get(key, []), f"{self.where}: {key}"):
            yield _Record(item, where)

    def stack(self) -> Stack:
        """Return the recorded stack."""
        return tuple(
            Frame(frame.text("filename"), frame.integer("line"), frame.text("name"))
            for frame in self.records("frames")
        )


def _items(value: object, where: str) -> Iterator[tuple[object, str]]:
    for index, item in enumerate(_list(value, where)):
        yield item, f"{where}[{index}]"


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _InvalidError(f"{where} must be a list, got {_type(value)}")
    return value


def _type(value: object) -> str:
    return type(value).__name__
