"""The child process's side: random numbers, progress notes for the parent and planted faults."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SLOTS = 16
"""The maximum number of threads of a child; each has a slot in the notes."""
SLOT_BYTES = 4096
HEADER = struct.Struct("<QI")
"""The number of actions begun, and the length of the text that describes the current one."""
FINISHED = (1 << 32) - 1
"""The length that marks the slot of a thread that does no further actions."""
FAULTS = ("crash", "hang", "panic", "wrong")
MOST_REPORTED = 50


class PanicException(BaseException):
    """A planted panic, with the name of PyO3's exception."""


class Note(NamedTuple):
    """The current action of one thread of a child."""

    number: int
    text: str
    finished: bool


def create_notes(path: Path) -> None:
    """Create an empty file of notes."""
    path.write_bytes(bytes(SLOTS * SLOT_BYTES))


def read_notes(path: Path) -> list[Note]:
    """Return the notes of every thread that has begun an action."""
    data, found = path.read_bytes(), []
    for start in range(0, SLOTS * SLOT_BYTES, SLOT_BYTES):
        number, length = HEADER.unpack_from(data, start)
        begin = start + HEADER.size
        text = "" if length == FINISHED else data[begin : begin + length].decode(errors="replace")
        if number:
            found.append(Note(number, text, length == FINISHED))
    return found


class Actions:
    """The actions of one child process; each iteration starts the next one."""

    def __init__(self, seed: int, count: int, folder: Path, plant: str | None) -> None:
        self.seed = seed
        self.count = count
        self.folder = folder
        self.random = random.Random(seed)
        self.counts: dict[str, int] = {}
        """Additional counts for the report."""
        self._planted_fault, self._planted_at = "", 0
        if plant is not None:
            fault, _, number = plant.partition(":")
            self._planted_fault, self._planted_at = fault, int(number)
        self._wrong: list[tuple[int, str]] = []
        self._numbers = [0] * SLOTS
        with (folder / "notes").open("r+b") as file:
            self._notes = mmap.mmap(file.fileno(), 0)
        self._owner = os.getpid()

    def __iter__(self) -> Iterator[int]:
        return self.of_slot(0, self.count)

    def of_slot(self, slot: int, count: int) -> Iterator[int]:
        """Begin `count` actions on the current thread, which uses this slot of the notes."""
        for number in range(1, count + 1):
            self._numbers[slot] = number
            yield number
        start = slot * SLOT_BYTES
        self._notes[start : start + HEADER.size] = HEADER.pack(count, FINISHED)

    def doing(self, text: str, slot: int = 0) -> None:
        """Describe the current action, for a report after a crash or a hang."""
        data = text.encode("utf-8", "backslashreplace")[: SLOT_BYTES - HEADER.size]
        start = slot * SLOT_BYTES
        record = HEADER.pack(self._numbers[slot], len(data)) + data
        self._notes[start : start + len(record)] = record

    def fault(self, slot: int = 0) -> bool:
        """Trigger the fault planted at the current action; return whether a wrong result is planted here."""
        if not self._planted_at or self._numbers[slot] != self._planted_at or slot:
            return False
        if self._planted_fault == "crash":
            ctypes.string_at(0)
        elif self._planted_fault == "hang":
            threading.Event().wait()
        elif self._planted_fault == "panic":
            raise PanicException("planted")
        return self._planted_fault == "wrong"

    def planted(self) -> str:
        """Return the name of the fault planted at the current action, or None."""
        return self._planted_fault if self._numbers[0] == self._planted_at else ""

    def wrong(self, text: str, slot: int = 0) -> None:
        """Record a failure of the current action."""
        if len(self._wrong) < MOST_REPORTED:
            self._wrong.append((self._numbers[slot], text))

    def add(self, name: str, number: int = 1) -> None:
        """Increase one of the additional counts."""
        self.counts[name] = self.counts.get(name, 0) + number

    def finish(self) -> None:
        """Write the result, except in a forked child of this process."""
        if os.getpid() != self._owner:
            return
        result = {"done": sum(self._numbers), "wrong": self._wrong, "counts": self.counts}
        (self.folder / "result").write_text(json.dumps(result))


def wait_until(condition: object, seconds: float) -> bool:
    """Return whether a condition becomes true before the timeout."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
