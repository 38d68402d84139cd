"""Reads a memory snapshot that interlock or PyTorch wrote with `pickle`.

The events of a snapshot are converted one by one while the file is read, and passed to the `History` of
their device, which does not keep them: a file of a gigabyte has several million. The rest of the data is
checked and converted to dataclasses at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock._cli.memory.history import KNOWN, SIZED, Event, Frame, History, Stack
from interlock._cli.memory.plain_pickle import (
    ForbiddenError,
    ForgottenError,
    PlainDict,
    PlainList,
    PlainPickle,
)
from interlock._cli.sizes import size_text

ALLOCATED = "active_allocated"
FREE = "inactive"
AWAITING_FREE = "active_awaiting_free"
# A block that was freed while queued work uses it has one of several names in PyTorch.
BLOCK_STATES = (ALLOCATED, AWAITING_FREE, "active_pending_free", FREE)

MemoryOf = int | None
"""The index of a device, or None for pinned memory."""


class SnapshotError(Exception):
    """A file cannot be read as a memory snapshot."""


@dataclass(frozen=True, slots=True)
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

    device: MemoryOf
    address: int
    size: int
    stream: int | None
    """None for pinned memory."""
    kind: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Snapshot:
    """The segments of all devices and of pinned memory, and the history of each."""

    segments: tuple[Segment, ...]
    histories: Mapping[MemoryOf, History]

    def devices(self) -> list[MemoryOf]:
        """Return the devices that have segments or events, pinned memory as the last."""
        traced = {device for device, history in self.histories.items() if history.events}
        return in_order(traced | {segment.device for segment in self.segments})

    def history(self, device: MemoryOf) -> History:
        """Return the history of a device, which is empty if none was recorded."""
        return self.histories.get(device) or History()


def in_order(devices: Iterable[MemoryOf]) -> list[MemoryOf]:
    """Sort devices by their indices; pinned memory comes last."""
    return sorted(devices, key=lambda device: (device is None, device or 0))


def load(path: str) -> Snapshot:
    """Read a snapshot: a dict with segments and events, or a list of segments.

    Args:
        path: The file, as `dump_snapshot` of interlock or PyTorch writes it.

    Raises:
        SnapshotError: The file cannot be read, is not a pickle of plain data, or is not a snapshot.

    """
    try:
        try:
            return _load(path, forget=True)
        except ForgottenError:
            # The same object is two events, which no allocator writes. This time everything is kept.
            return _load(path, forget=False)
    except OSError as error:
        raise SnapshotError(f'cannot read "{path}": {os.strerror(error.errno or 0)}') from error
    except (ForbiddenError, _InvalidError) as error:
        raise SnapshotError(f'"{path}" is not a memory snapshot: {error}') from error
    except IndexError as error:
        raise SnapshotError(
            f'"{path}" is not a pickle, or is damaged: it ends too early or lacks an object'
        ) from error
    # A damaged pickle raises nearly any exception.
    except Exception as error:
        raise SnapshotError(f'"{path}" is not a pickle, or is damaged: {error}') from error


def _load(path: str, *, forget: bool) -> Snapshot:
    with open(path, "rb") as file:
        reader = _Reader(file, forget)
        data = reader.pickle.load()
    return reader.snapshot(data)


class _InvalidError(Exception):
    """A value does not have the expected type; the message says where."""


class _Trace:
    """The events of one list of the file."""

    def __init__(self) -> None:
        self.history = History()
        self.problem: str | None = None
        """The number of the first event that is not valid, and the reason."""


class _Reader:
    """Converts the data of one file."""

    def __init__(self, file: Any, forget: bool) -> None:
        self.pickle = PlainPickle(file, self._on_items)
        self._forget = forget
        self._frames: dict[tuple[str, int, str], PlainDict] = {}
        self._stacks: dict[tuple[Frame, ...], PlainList] = {}
        self._no_stack = Stack(())

    def _on_items(self, target: PlainList, items: list[Any]) -> list[Any]:
        """Take events out of the items that are appended to a list, and return the other items."""
        trace = target.seen
        if not isinstance(trace, _Trace):
            if "action" not in items[0]:
                return items
            trace = target.seen = _Trace()
        for item in items:
            if trace.problem is None:
                try:
                    self._add(trace.history, item)
                except _InvalidError as error:
                    # It is not known yet whether the list contains the events of a device.
                    trace.problem = f"[{trace.history.events}]{error}"
            if self._forget and type(item) is PlainDict:
                self.pickle.forget(item)
                for value in item.values():
                    if (type(value) is PlainList or type(value) is PlainDict) and value.seen is None:
                        self.pickle.forget(value)
        return []

    def _add(self, history: History, item: Any) -> None:
        """Add an event to a history."""
        entry = _Record(item, "")
        get = entry.data.get
        action, size, address = get("action"), get("size"), get("addr", 0)
        stream, time_us = get("stream", 0), get("time_us")
        if action not in SIZED:
            size = get("size", 0)
            if type(action) is str and action not in KNOWN:
                # What the other values mean is not known, either.
                known_time = time_us if type(time_us) is int and time_us >= 0 else None
                history.add(Event(action, 0, 0, 0, known_time, self._no_stack))
                return
        if not (
            type(action) is str
            and type(size) is int
            and type(address) is int
            and type(stream) is int
            and (type(time_us) is int or (time_us is None and "time_us" not in entry.data))
            and min(size, address, stream, time_us or 0) >= 0
        ):
            # One of them is not valid, and is reported.
            action = entry.text("action")
            size = entry.integer("size", None if action in SIZED else 0)
            address, stream = entry.integer("addr", 0), entry.integer("stream", 0)
            time_us = entry.optional_integer("time_us")
        stack = self._stack(entry)
        history.add(Event(action, address, size, stream, time_us, stack, _text_of(entry, action, stack)))

    def _stack(self, record: _Record) -> Stack:
        """Return the recorded stack of an event or a block; equal stacks are one object."""
        frames = record.data.get("frames")
        if type(frames) is PlainList and isinstance(frames.seen, Stack):
            return frames.seen
        if type(frames) is not PlainList:
            found = tuple(self._frame(frame) for frame in record.records("frames"))
            return Stack(found) if found else self._no_stack
        try:
            # Nearly always the frames and the stack are known.
            kept = self._stacks[tuple([frame.seen for frame in frames])]
        except (AttributeError, KeyError):
            found = tuple(self._frame(frame) for frame in record.records("frames"))
            kept = self._stacks.setdefault(found, frames)
        if kept is frames:
            kept.seen = Stack(found) if found else self._no_stack
        stack: Stack = self._as_one(frames, kept)
        return stack

    def _frame(self, frame: _Record) -> Frame:
        """Return a frame; equal frames are one object."""
        data = frame.data
        if type(data) is PlainDict and isinstance(data.seen, Frame):
            return data.seen
        made = Frame(frame.text("filename"), frame.integer("line"), frame.text("name"))
        if type(data) is not PlainDict:
            return made
        kept = self._frames.setdefault((made.filename, made.line, made.function), data)
        if kept is data:
            kept.seen = made
        seen: Frame = self._as_one(data, kept)
        return seen

    def _as_one(self, item: PlainDict | PlainList, kept: PlainDict | PlainList) -> Any:
        """Let the rest of the file refer to the first of equal objects. Return what was made of that."""
        if item is not kept:
            item.seen = kept.seen
            self.pickle.replace(item, kept)
        return kept.seen

    def snapshot(self, data: object) -> Snapshot:
        """Convert the data of a file, whose events are already in histories."""
        if isinstance(data, list):
            data = {"segments": data}
        if not isinstance(data, dict) or not {"segments", "device_traces"} & data.keys():
            raise _InvalidError(
                f"it must be a dict with segments or device_traces, or a list of segments, got {_type(data)}"
            )
        whole = _Record(data, "the snapshot")
        segments = [self._segment(segment) for segment in whole.records("segments")]
        segments += [self._pinned(block) for block in whole.records("host_segments")]
        traces = _list(data.get("device_traces", []), "device_traces")
        histories: dict[MemoryOf, History] = {
            index: self._history(trace, f"device_traces[{index}]") for index, trace in enumerate(traces)
        }
        histories[None] = self._history(data.get("host_traces", []), "host_traces")
        for device, ranges in _profiler_ranges(whole).items():
            if device in histories:
                histories[device].add_annotations(ranges)
        return Snapshot(tuple(segments), histories)

    def _history(self, trace: object, where: str) -> History:
        seen = trace.seen if isinstance(trace, PlainList) else None
        if isinstance(seen, _Trace):
            if seen.problem is not None:
                raise _InvalidError(f"{where}{seen.problem}")
            return seen.history
        # Only a list has a history yet, and only if it begins with an event.
        history = History()
        for item, place in _items(trace, where):
            try:
                self._add(history, item)
            except _InvalidError as error:
                raise _InvalidError(f"{place}{error}") from None
        return history

    def _segment(self, segment: _Record) -> Segment:
        address = segment.integer("address", 0)
        blocks = []
        position = address
        for block in segment.records("blocks"):
            # Versions of PyTorch before 2.1 do not record the addresses of blocks.
            blocks.append(self._block(block, position))
            position += blocks[-1].size
        return Segment(
            device=segment.integer("device", 0),
            address=address,
            size=segment.integer("total_size"),
            stream=segment.integer("stream", 0),
            kind=segment.text("segment_type", ""),
            blocks=tuple(blocks),
        )

    def _pinned(self, block: _Record) -> Segment:
        """Return a block of pinned memory, which has no parts, as a segment."""
        address, size = block.integer("address"), block.integer("size")
        state = FREE
        if block.truth("active"):
            state = ALLOCATED if block.truth("allocated") else AWAITING_FREE
        requested = 0 if state == FREE else size
        part = Block(address, size, requested, state, self._stack(block))
        return Segment(device=None, address=address, size=size, stream=None, kind="", blocks=(part,))

    def _block(self, block: _Record, position: int) -> Block:
        state = block.text("state")
        if state not in BLOCK_STATES:
            raise _InvalidError(
                f'{block.where}: state must be one of {", ".join(BLOCK_STATES)}, got "{state}"'
            )
        size = block.integer("size")
        return Block(
            address=block.integer("address", position),
            size=size,
            requested=0 if state == FREE else block.integer("requested_size", size),
            state=state,
            stack=self._stack(block),
        )


def _text_of(entry: _Record, action: str, stack: Stack) -> str | None:
    """Return the text of an annotation, or what an out-of-memory error reports; None for other events."""
    if action == "annotate":
        return entry.text("user_metadata", "")
    if action == "oom":
        free = entry.data.get("device_free")
        return f"{size_text(free)} free on the device" if type(free) is int and free >= 0 else None
    if action == "user_defined" and stack.frames:
        # PyTorch stores the name of a range of its profiler, with START or END, in the place of a frame.
        return f"{stack.frames[0].filename} {stack.frames[0].function}"
    return None


def _profiler_ranges(snapshot: _Record) -> dict[int, list[tuple[int, str]]]:
    """Return the times and texts of the ranges of PyTorch's profiler, by device."""
    found: dict[int, list[tuple[int, str]]] = {}
    for each in snapshot.records("external_annotations"):
        # PyTorch writes what it was given; a range has a name and START or END.
        texts = [value for key in ("name", "stage") if isinstance(value := each.data.get(key), str)]
        found.setdefault(each.integer("device", 0), []).append((each.integer("time_us", 0), " ".join(texts)))
    return found


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

    def truth(self, key: str) -> bool:
        """Return a bool. A missing key is an error."""
        value = self._value(key, None)
        if not isinstance(value, bool):
            raise _InvalidError(f"{self.where}: {key} must be a bool, got {_type(value)}")
        return value

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


def _items(value: object, where: str) -> Iterator[tuple[object, str]]:
    for index, item in enumerate(_list(value, where)):
        yield item, f"{where}[{index}]"


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _InvalidError(f"{where} must be a list, got {_type(value)}")
    return value


def _type(value: object) -> str:
    kinds = (dict, list)
    return next((kind.__name__ for kind in kinds if isinstance(value, kind)), type(value).__name__)
