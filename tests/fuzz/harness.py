"""The parent process's side: starts the children of a fuzzer, watches them and reports their findings.

A run of `count` actions is divided into children of at most `Kind.per_child` actions. The child with index i
has the seed `seed + i`, so the seed of a child and its number of actions reproduce it alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.fuzz.actions import Note, create_notes, read_notes
from tests.helpers.subprocess import child_environment

ROOT = Path(__file__).resolve().parents[2]
# Seconds for a child to import and build its tools before the first action.
SECONDS_TO_START = 120.0
SECONDS_TO_TRACE = 5.0
SECONDS_BETWEEN_LOOKS = 0.05
MOST_STDERR = 6000
PANIC = re.compile(r"panicked at|PanicException|a bug in interlock")


@dataclass(frozen=True)
class Kind:
    """One fuzzer."""

    name: str
    unit: str
    """The name of an action in the report."""
    per_child: int
    count: int
    """The minimum number of actions of `make fuzz`."""
    quiet: float
    """Seconds without a new action after which a child counts as hung."""
    extra: str = ""
    """The count of `Actions.counts` that the last line of the report includes."""
    variables: Mapping[str, str] = field(default_factory=dict)


HOST = {"INTERLOCK_ACCELERATOR": "host:2", "PYTHONHASHSEED": "0"}

KINDS = {
    kind.name: kind
    for kind in (
        Kind("api", "calls", 5_000, 300_000, 60.0, variables=HOST),
        Kind("threads", "actions", 20_000, 300_000, 60.0, variables=HOST),
        Kind("tensors", "operations", 4_000, 33_000, 60.0, "agree with PyTorch", variables=HOST),
        Kind("endings", "processes", 50, 400, 90.0, variables=HOST),
        Kind("signals", "actions", 2_000, 20_000, 60.0, "interrupted", variables=HOST),
    )
}


@dataclass(frozen=True)
class Failure:
    """A finding of a child, or its abnormal exit."""

    kind: str
    what: str
    """One of crash, hang, panic, wrong."""
    seed: int
    number: int
    count: int
    """The number of actions that reproduce it."""
    text: str
    details: str = ""

    def report(self) -> str:
        """Return the failure with the command that reproduces it."""
        command = f"python -m tests.fuzz {self.kind} --seed {self.seed} --count {self.count}"
        lines = [f"{self.kind}: {self.what} in action {self.number} of seed {self.seed}: {self.text}"]
        lines.append(f"  repeat: {command}")
        lines += [f"  | {line}" for line in self.details[-MOST_STDERR:].splitlines()]
        return "\n".join(lines)


@dataclass
class Totals:
    """The totals of the children of one fuzzer."""

    kind: Kind
    done: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    def number(self, what: str) -> int:
        """Return the number of failures of one sort."""
        return sum(failure.what == what for failure in self.failures)

    def line(self) -> str:
        """Return the last line of the report."""
        figures = [f"{self.done:,} {self.kind.unit}"]
        if self.kind.extra:
            figures.append(f"{self.counts.get(self.kind.extra, 0):,} {self.kind.extra}")
        words = {"crash": "crashes", "hang": "hangs", "panic": "panics", "wrong": "wrong results"}
        figures += [f"{self.number(what)} {word}" for what, word in words.items()]
        return f"{self.kind.name}: {', '.join(figures)} ({self.seconds:.0f} s)"


def kill_session(leader: int) -> None:
    """Kill the processes of a session: a child is a session leader and starts processes in other groups."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            # The name of the program, which may contain spaces, ends with the last parenthesis.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(folder.name), signal.SIGKILL)


class Child:
    """One child process of a fuzzer, with its notes, its output and its watchdog."""

    def __init__(self, kind: Kind, seed: int, count: int, plant: str | None, quiet: float | None) -> None:
        self.kind, self.seed, self.count = kind, seed, count
        self._folder = tempfile.TemporaryDirectory(prefix="interlock-fuzz-")
        self.folder = Path(self._folder.name)
        create_notes(self.folder / "notes")
        self._stdout: IO[bytes] = (self.folder / "stdout").open("wb")
        self._stderr: IO[bytes] = (self.folder / "stderr").open("wb")
        arguments = [kind.name, str(seed), str(count), str(self.folder), *([plant] if plant else [])]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.work", *arguments],
            cwd=ROOT,
            env=child_environment(kind.variables),
            stdin=subprocess.DEVNULL,
            stdout=self._stdout,
            stderr=self._stderr,
            start_new_session=True,
        )
        self._quiet = quiet or kind.quiet
        self._numbers: dict[int, int] = {}
        self._moved = time.monotonic()
        self._stuck_since: dict[int, float] = {}
        self.hung = False

    def poll(self) -> bool:
        """Return whether the child has exited; kill a child that hangs after it printed its traceback."""
        if self.process.poll() is not None:
            return True
        now = time.monotonic()
        notes = read_notes(self.folder / "notes")
        for slot, note in enumerate(notes):
            if self._numbers.get(slot) != note.number or note.finished:
                self._numbers[slot] = note.number
                self._stuck_since[slot] = now
        limits = [(since, self._quiet) for since in self._stuck_since.values()] or [
            (self._moved, max(SECONDS_TO_START, self._quiet))
        ]
        # A child whose threads have all finished still has to exit.
        if any(now - since > limit for since, limit in limits) or self._ends_too_slowly(notes, now):
            self.hung = True
            self.end()
            return True
        return False

    def _ends_too_slowly(self, notes: list[Note], now: float) -> bool:
        finished = bool(notes) and all(note.finished for note in notes)
        if not finished:
            self._moved = now
        return finished and now - self._moved > self._quiet

    def end(self) -> None:
        """Kill the process and its children after it has written the tracebacks of its threads."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_TRACE)
        kill_session(self.process.pid)
        self.process.wait()

    def stop(self, totals: Totals) -> None:
        """Kill the process because its time is over, and count its actions."""
        if self.poll():
            self.collect(totals)
            return
        kill_session(self.process.pid)
        self.process.wait()
        totals.done += sum(note.number for note in read_notes(self.folder / "notes"))
        self._stdout.close()
        self._stderr.close()
        self._folder.cleanup()

    def collect(self, totals: Totals) -> None:
        """Add the actions and findings of the exited child to the totals."""
        kill_session(self.process.pid)
        self._stdout.close()
        self._stderr.close()
        stderr = (self.folder / "stderr").read_text(errors="replace")
        notes = read_notes(self.folder / "notes")
        result = self.folder / "result"
        if not self.hung and self.process.returncode == 0 and result.exists():
            self._read_result(json.loads(result.read_text()), stderr, totals)
        else:
            number = sum(note.number for note in notes)
            totals.done += number
            text = "; ".join(note.text for note in notes if not note.finished) or "before the first action"
            totals.failures.append(self._failure(self._how_it_ended(stderr), number, text, stderr))
        self._folder.cleanup()

    def _how_it_ended(self, stderr: str) -> str:
        if self.hung:
            return "hang"
        return "panic" if PANIC.search(stderr) and self.process.returncode > 0 else "crash"

    def _failure(self, what: str, number: int, text: str, details: str) -> Failure:
        code = self.process.returncode
        if what == "crash":
            text = f"{text} (ended by {signal.Signals(-code).name if code < 0 else f'exit status {code}'})"
        # The threads of a child share its count, so the full count is needed to reproduce one of them.
        count = self.count if self.kind.name == "threads" else min(max(number, 1), self.count)
        return Failure(self.kind.name, what, self.seed, number, count, text, details)

    def _read_result(self, result: dict[str, object], stderr: str, totals: Totals) -> None:
        done, wrong, counts = result["done"], result["wrong"], result["counts"]
        assert isinstance(done, int)
        assert isinstance(wrong, list)
        assert isinstance(counts, dict)
        totals.done += done
        for name, value in counts.items():
            totals.counts[name] = totals.counts.get(name, 0) + value
        for number, text in wrong:
            what = next(
                (what for what in ("crash", "hang", "panic") if text.startswith(f"{what}: ")), "wrong"
            )
            totals.failures.append(self._failure(what, number, text.removeprefix(f"{what}: "), ""))
        if PANIC.search(stderr) and not any(text.startswith("panic: ") for _, text in wrong):
            totals.failures.append(self._failure("panic", done, "a panic on stderr", stderr))


def run(
    kind: Kind,
    seed: int,
    count: int,
    *,
    jobs: int = 1,
    plant: str | None = None,
    quiet: float | None = None,
    seconds: float | None = None,
    say: Callable[[str], None] = print,
) -> Totals:
    """Run `count` actions of a fuzzer in children, `jobs` at a time; report each failure once.

    After `seconds`, if given, no child starts and running ones are ended early.
    """
    started = time.monotonic()
    totals = Totals(kind)
    waiting = [
        (seed + index, min(kind.per_child, count - first))
        for index, first in enumerate(range(0, count, kind.per_child))
    ]
    running: list[Child] = []
    reported: dict[str, int] = {}
    try:
        while waiting or running:
            if seconds is not None and time.monotonic() - started > seconds:
                waiting.clear()
                for each in running:
                    each.stop(totals)
                running.clear()
            while waiting and len(running) < jobs:
                running.append(Child(kind, *waiting.pop(0), plant, quiet))
            for each in [each for each in running if each.poll()]:
                running.remove(each)
                before = len(totals.failures)
                each.collect(totals)
                for failure in totals.failures[before:]:
                    _report(failure, reported, say)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        for each in running:
            each.end()
    totals.seconds = time.monotonic() - started
    for text, number in reported.items():
        if number > 1:
            say(f"{number} times: {text}")
    return totals


def _report(failure: Failure, reported: dict[str, int], say: Callable[[str], None]) -> None:
    """Print a failure unless one with an equal beginning was printed before."""
    key = f"{failure.kind}: {failure.what}: {re.split(r'[(:]', failure.text)[0]}"
    reported[key] = reported.get(key, 0) + 1
    if reported[key] <= 2:
        say(failure.report())
