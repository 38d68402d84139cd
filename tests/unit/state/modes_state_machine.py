"""A step of the state machine of modes: on both sides, at one place, followed by a check of all states."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import interlock

from tests.helpers.thread_worker import Worker
from tests.unit.state import modes_model, suspended_calls
from tests.unit.state.state_machine_base import THREADS, OnThreads

Pair = tuple[Any, Any]
"""An object of interlock and its counterpart of the model."""
Place = tuple[int, tuple[int, ...]]
"""A thread, and the numbers of the frames inside which a step happens, the outermost first."""


@dataclass(eq=False)
class Frame:
    """Code on both sides that runs the actions sent to it."""

    kind: str
    ours: Any
    models: Any
    thread: int
    """The thread on which it last ran."""
    ended: bool = False


def look() -> str:
    """Return all mode bits."""
    return repr(interlock.capture())


def model_look() -> str:
    return modes_model.shown(modes_model.capture())


def along(way: Sequence[Any], action: Callable[[], object], look: Callable[[], str]) -> tuple[Any, str]:
    """Run an action inside all of these frames; return the states there and on the way back."""
    if not way:
        return action(), look()
    outer, *inner = way
    return outer.send(lambda: along(inner, action, look)), look()


def seen_by(frames: list[Any], look: Callable[[], str]) -> list[str]:
    """Return the state of each frame, and then of the thread."""
    return [*(frame.send(look) for frame in frames), look()]


class ModesOnThreads(OnThreads):
    """Threads and frames of both sides."""

    clean_workers: ClassVar[list[Worker]] = []
    """Threads of earlier sequences, reused because starting threads would take a third of the time."""
    loop: ClassVar[asyncio.AbstractEventLoop]
    defaults: ClassVar[interlock.ThreadState]

    @classmethod
    @contextmanager
    def ready(cls) -> Iterator[None]:
        """Set up the state shared by all sequences."""
        cls.loop = asyncio.new_event_loop()
        cls.loop.set_exception_handler(lambda _loop, _context: None)  # it would report collected tasks
        cls.defaults = interlock.capture()
        # The GC finalizes the parts of a cycle in the order of their creation, unless it has run in between.
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            cls.loop.close()
            while cls.clean_workers:
                cls.clean_workers.pop().stop()

    def __init__(self) -> None:
        super().__init__()
        # Existing objects need not be traversed whenever a sequence calls the GC.
        gc.freeze()
        self.of_threads = [(modes_model.State(), modes_model.ThreadBase()) for _ in range(THREADS)]
        self.frames: list[Frame] = []
        self.scopes: list[Any] = []
        self.entered = 0
        self.agreed = True

    def new_worker(self) -> Worker:
        return self.clean_workers.pop() if self.clean_workers else super().new_worker()

    def teardown(self) -> None:
        for frame in self.frames:
            frame.ours.close()
        # After a disagreement the state of a thread is unknown, so it is not reused.
        if self.agreed and all(worker.do(self.clean) for worker in self.workers):
            self.clean_workers.extend(self.workers)
        else:
            super().teardown()

    def clean(self) -> bool:
        """Exit all scopes of this thread, and reset it to the defaults."""
        for scope in self.scopes:
            for _ in range(self.entered + 1):
                scope.__exit__(None, None, None)
        self.defaults.install()
        return look() == repr(self.defaults)

    def way_of(self, place: Place, *, but: Frame | None = None, no_loop: bool = False) -> list[Frame]:
        """Return the existing frames of a place, with at most one frame of the event loop."""
        chosen: list[Frame] = []
        for number in place[1]:
            frame = self.frames[number] if number < len(self.frames) else None
            if frame is None or frame is but:
                continue
            if frame.kind in suspended_calls.OF_THE_LOOP:
                if no_loop:
                    continue
                no_loop = True
            chosen.append(frame)
        return chosen

    def way_without(self, frame: Frame, place: Place) -> list[Frame]:
        """Return the frames for a step on this frame: without itself, and not while its loop runs."""
        return self.way_of(place, but=frame, no_loop=frame.kind in suspended_calls.OF_THE_LOOP)

    def both(
        self, place: Place, ours: Callable[[], Any], models: Callable[[], Any], way: list[Frame] | None = None
    ) -> Pair:
        """Run a step on both sides; return its results."""
        thread, way = place[0], self.way_of(place) if way is None else way
        came: list[Any] = []
        self.agreed = False
        for frame in way:
            frame.thread = thread
        got = self.workers[thread].do(
            lambda: along([frame.ours for frame in way], lambda: came.append(ours()), look)
        )
        with modes_model.activated(*self.of_threads[thread]):
            want = along([frame.models for frame in way], lambda: came.append(models()), model_look)
        assert got == want, f"{got} instead of {want}"
        self.compare_elsewhere(thread, way)
        self.agreed = True
        return came[0], came[1]

    def compare_elsewhere(self, thread: int, way: list[Frame]) -> None:
        """Compare the state of every other thread, and of every task and context."""
        for number, (worker, state) in enumerate(zip(self.workers, self.of_threads, strict=True)):
            others = [
                frame
                for frame in self.frames
                if frame.kind in suspended_calls.WITH_A_STATE
                and frame.thread == number
                and frame not in way
                and not frame.ended
            ]
            if number == thread and not others:
                continue
            got = worker.do(partial(seen_by, [other.ours for other in others], look))
            with modes_model.activated(*state):
                want = seen_by([other.models for other in others], model_look)
            assert got == want, f"{[other.kind for other in others]}: {got} instead of {want}"
