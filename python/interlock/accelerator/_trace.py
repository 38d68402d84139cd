"""Traces of streams for viewers: `trace`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from interlock._core import accelerator as _native
from interlock._core.state import UninterruptedExit
from interlock._quote import open_file, path_of

_NAME = "accelerator.trace"

_PROGRAM = 0
"""The number of the program among the processes of a trace; the device with index i has i + 1."""


class trace(UninterruptedExit):
    """Write what streams and the program do to a file for Perfetto or `chrome://tracing`.

    The file contains, in Chrome's trace format: each task of a stream, the waits of streams for each other
    with the name of the awaited stream, the calls that queued tasks, with arrows to them, the waits of the
    program, the errors of tasks, and the bytes that are allocated on each device. Times of host devices are
    exact. Those of other devices are times of events around the tasks, except that nothing is recorded in
    captures.

    Tasks that run after the block are not in the file: synchronize before its end. A process has one trace at
    a time, of all its threads.

    Args:
        path: The file to write, at the end of the block.
        max_events: The most activities that are recorded, of about 150 bytes of memory each; the file has the
            number of further ones.

    Returns:
        A context manager, which returns the path.

    Raises:
        ArgumentError: `max_events` is negative, or a trace is being recorded when the block begins.
        TypeError: `path` is no path, or `max_events` is no int.
        OSError: The file cannot be written.
        RuntimeError: The block is ended without a begin.

    Example:
        >>> import json, tempfile
        >>> import interlock
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with accelerator.trace(f"{folder}/trace.json") as path:
        ...         y = interlock.ones(4, device="host:0") * 2
        ...         accelerator.synchronize()
        ...     with open(path) as file:
        ...         events = json.load(file)["traceEvents"]
        >>> [event["name"] for event in events if event.get("cat") == "task"]
        ['full', 'mul']

    """

    def __init__(self, path: str | os.PathLike[str], *, max_events: int = 1_000_000) -> None:
        self._path = os.fsdecode(path_of(_NAME, path))
        self._max_events = _native.checked_max_events(max_events)
        self._recorder: _native.TraceRecorder | None = None

    def __enter__(self) -> str:
        recorder = _native.TraceRecorder(self._max_events)
        try:
            # A path that cannot be written is found before the work.
            with open_file(_NAME, self._path, "w"):
                pass
        except BaseException:
            recorder.finish()
            raise
        self._recorder = recorder
        return self._path

    def _exit(self, exited: list[_native.TraceRecorder]) -> None:
        if exited:
            # An interrupt, after which the file is not written again.
            exited[0].finish()
            return
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise RuntimeError(f"{_NAME}: exited without being entered")
        exited.append(recorder)
        import json  # `import interlock` should be fast.

        activities, dropped = recorder.finish()
        with open(self._path, "w", encoding="utf-8") as file:
            file.write('{"displayTimeUnit":"ns","otherData":')
            json.dump({"dropped": dropped}, file)
            file.write(',"traceEvents":[')
            for position, event in enumerate(_events(activities)):
                file.write(",\n" if position else "\n")
                json.dump(event, file)
            file.write("\n]}\n")


_Row = tuple[str, str, int | None, int, str, float, float, int, int]


def _events(activities: list[_Row]) -> Iterator[dict[str, Any]]:
    """Return the events of Chrome's format: names of tracks first, then each activity."""
    yield _metadata("process_name", _PROGRAM, 0, "program")
    devices, tracks = set[int](), dict[tuple[int | None, int], int]()
    for kind, _, device, track, name, *_ in activities:
        if device is not None and device not in devices:
            devices.add(device)
            yield _metadata("process_name", device + 1, 0, f"device {device}")
        if kind != "memory" and (device, track) not in tracks:
            number = tracks[device, track] = len(tracks) + 1
            yield _metadata("thread_name", _process(device), number, name)
    # The other end of an arrow may have been dropped, or the task may run later.
    called = {link for kind, *_, link in activities if kind == "call"}
    linked = called.intersection(link for kind, *_, link in activities if kind != "call")
    for kind, name, device, track, _, start, duration, allocated, link in _with_whole_waits(activities):
        event = {"name": name, "cat": kind, "pid": _process(device), "ts": start}
        if kind == "memory":
            yield {**event, "ph": "C", "args": {"bytes": allocated}}
            continue
        event["tid"] = tracks[device, track]
        if kind == "error":
            yield {**event, "ph": "i", "s": "t"}
            continue
        yield {**event, "ph": "X", "dur": duration}
        if link and link in linked:
            arrow = {**event, "name": "queued", "cat": "queue", "id": link}
            yield {**arrow, "ph": "s"} if kind == "call" else {**arrow, "ph": "f", "bp": "e"}


_SLICE_GAP = 1000.0
"""A wait of the program is recorded in parts, because it handles signals: microseconds between two parts."""


def _with_whole_waits(activities: list[_Row]) -> list[_Row]:
    """Return the activities in the order of their starts, the parts of each wait of the program as one."""
    whole, last = list[_Row](), dict[tuple[str, int], int]()
    for row in sorted(activities, key=lambda row: row[5]):
        kind, name, device, track, place, start, duration, allocated, link = row
        if kind == "synchronize":
            before = last.setdefault((name, track), len(whole))
            if before < len(whole):
                began, lasted = whole[before][5:7]
                if start - (began + lasted) < _SLICE_GAP:
                    joined = start + duration - began
                    whole[before] = (kind, name, device, track, place, began, joined, allocated, link)
                    continue
                last[name, track] = len(whole)
        whole.append(row)
    return whole


def _process(device: int | None) -> int:
    return _PROGRAM if device is None else device + 1


def _metadata(kind: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}
