"""The state in a child process."""

import multiprocessing

import interlock
from interlock import backends


def seen():
    """Return a mode and a flag."""
    return interlock.is_grad_enabled(), backends.cudnn.enabled


def seen_in_a_process(method):
    """Return the state that a child process starts with, which is started inside scopes."""
    with (
        interlock.no_grad(),
        backends.override({"cudnn.enabled": False}),
        multiprocessing.get_context(method).Pool(1) as pool,
    ):
        return [pool.apply(seen)]
