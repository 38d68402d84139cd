"""Coroutines that `interlock.aio` steps."""

import gc

from interlock import aio


def steps_without_a_coroutine_are_refused_and_finalized_silently():
    for make in (aio._SyncedCoroutine, lambda: object.__new__(aio._SyncedCoroutine)):
        try:
            made = make()
        except TypeError as error:
            print(error)
        else:
            del made
        gc.collect()
