"""How the machine of modes takes a step: on both sides, at one place, looking everywhere afterwards."""

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
from tests.unit.autograd.mode_cases import public_modes
from tests.unit.state import modes_model, suspended_calls
from tests.unit.state.state_machine_base import THREADS, OnThreads

Pair = tuple[Any, Any]
"""The same thing of interlock and of the model."""
Place = tuple[int, tuple[int, ...]]
"""A thread, and the numbers of the frames inside which a step happens, the outermost first."""


@dataclass(eq=False)
class Frame:
    """Code that does what it is sent, on both sides."""

    kind: str
    ours: Any
    models: Any
    thread: int
    """Where it did something last."""
    ended: bool = False


def look() -> str:
    """All mode bits of this thread, after whatever others have left here."""
    return repr(interlock.capture())


def model_look() -> str:
    return modes_model.shown(modes_model.capture())


def along(way: Sequence[Any], action: Callable[[], object], look: Callable[[], str]) -> tuple[Any, str]:
    """Do something inside all of these frames; return what is seen there and on the way back."""
    if not way:
        return action(), look()
    outer, *inner = way
    return outer.send(lambda: along(inner, action, look)), look()


def seen_by(tasks: list[Any], look: Callable[[], str]) -> list[str]:
    """What each task sees, and then the thread."""
    return [*(task.send(look) for task in tasks), look()]


class ModesOnThreads(OnThreads):
    """Threads and frames of both sides."""

    clean_workers: ClassVar[list[Worker]] = []
    """Threads of earlier sequences: to start and end threads would take a third of the time."""
    loop: ClassVar[asyncio.AbstractEventLoop]
    defaults: ClassVar[interlock.ThreadState]

    @classmethod
    @contextmanager
    def ready(cls) -> Iterator[None]:
        """What all sequences share."""
        cls.loop = asyncio.new_event_loop()
        cls.loop.set_exception_handler(lambda _loop, _context: None)  # it says which tasks are collected
        cls.defaults = interlock.capture()
        # The collector comes to the parts of a cycle in the order in which they were made, unless it has run
        # in between.
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            gc.unfreeze()
            cls.loop.close()
            while cls.clean_workers:
                cls.clean_workers.pop().stop()

    def __init__(self) -> None:
        super().__init__()
        # What lives already need not be looked through whenever a sequence calls the collector.
        gc.freeze()
        self.of_threads = [modes_model.new_state() for _ in range(THREADS)]
        self.frames: list[Frame] = []
        self.scopes: list[Any] = []
        self.entered = 0
        self.patient = False
        """Whether other threads are only read: what was left there then waits until they act themselves."""
        self.agreed = True

    def new_worker(self) -> Worker:
        return self.clean_workers.pop() if self.clean_workers else super().new_worker()

    def teardown(self) -> None:
        for frame in self.frames:
            frame.ours.close()
        # After a disagreement a thread is not what it should be, and never given to another sequence.
        if self.agreed and all(worker.do(self.clean) for worker in self.workers):
            self.clean_workers.extend(self.workers)
        else:
            super().teardown()

    def clean(self) -> bool:
        """Leave all that may be open on this thread, and let it start from the defaults."""
        for scope in self.scopes:
            for _ in range(self.entered + 1):
                scope.__exit__(None, None, None)
        self.defaults.install()
        return look() == repr(self.defaults)

    def way_of(self, place: Place, *, but: Frame | None = None, no_loop: bool = False) -> list[Frame]:
        """The frames of a place, as far as there are such; the loop goes round once at a time."""
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
        """Where a step on this frame can happen: not inside it, and not while its loop runs."""
        return self.way_of(place, but=frame, no_loop=frame.kind in suspended_calls.OF_THE_LOOP)

    def both(
        self, place: Place, ours: Callable[[], Any], models: Callable[[], Any], way: list[Frame] | None = None
    ) -> Pair:
        """Do a step on both sides; return what it came to."""
        thread, way = place[0], self.way_of(place) if way is None else way
        came: list[Any] = []
        self.agreed = False
        for frame in way:
            frame.thread = thread
        got = self.workers[thread].do(
            lambda: along([frame.ours for frame in way], lambda: came.append(ours()), look)
        )
        with modes_model.in_force(self.of_threads[thread]):
            want = along([frame.models for frame in way], lambda: came.append(models()), model_look)
        assert got == want
        self.compare_elsewhere(thread, way)
        self.agreed = True
        return came[0], came[1]

    def unseen(self, thread: int, ours: Callable[[], object], models: Callable[[], object]) -> None:
        """Do a step on both sides and leave it to the next one to look."""
        self.workers[thread].do(ours)
        with modes_model.in_force(self.of_threads[thread]):
            models()

    def thread_that_entered(self, made: Pair) -> int:
        """Who entered the object last; the first thread where that was a task, or nobody."""
        entered_on = [state.thread == made[1]._entered_on for state in self.of_threads]
        return entered_on.index(True) if any(entered_on) else 0

    def compare_elsewhere(self, thread: int, way: list[Frame]) -> None:
        """Compare what every other thread sees, and every other task that has a state of its own."""
        for number, (worker, state) in enumerate(zip(self.workers, self.of_threads, strict=True)):
            if self.patient:
                assert number == thread or worker.do(public_modes) == modes_model.read_only(state)
                continue
            tasks = [
                frame
                for frame in self.frames
                if frame.kind in suspended_calls.WITH_A_STATE
                and frame.thread == number
                and frame not in way
                and not frame.ended
            ]
            if number == thread and not tasks:
                continue
            got = worker.do(partial(seen_by, [task.ours for task in tasks], look))
            with modes_model.in_force(state):
                assert got == seen_by([task.models for task in tasks], model_look)
