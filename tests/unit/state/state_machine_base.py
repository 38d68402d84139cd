"""The base of both state machines: threads, and the number of sequences."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from tests.helpers import run_options
from tests.helpers.thread_worker import Worker

LONG = os.environ.get("LONG_TESTS") == "1"


def sequences(number: int, steps: int = 40) -> settings:
    """Return settings for `number` sequences of at most `steps` steps with `--full`, and a fifth without.

    The sequences are equal in every run, so that a failure is due to the change under test. With
    `LONG_TESTS=1` there are 2000 new random ones.
    """
    return settings(
        max_examples=2_000 if LONG else number if run_options.FULL else number // 5,
        derandomize=not LONG,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


THREADS = 3
A_FEW = 4
"""The maximum number of objects of a sequence, so that each is entered often and in many orders."""

threads = st.sampled_from((0, 0, 0, 1, 2))


class OnThreads(RuleBasedStateMachine):
    """Three threads for the duration of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = [self.new_worker() for _ in range(THREADS)]
        self.made = 0

    def new_worker(self) -> Worker:
        """Return a thread with the default state."""
        return Worker()

    def few_objects(self) -> bool:
        """Return whether more objects may be created."""
        return self.made < A_FEW

    def teardown(self) -> None:
        for worker in self.workers:
            worker.stop()
