"""Generators that are entered on one thread and end, or are collected, on another."""

import concurrent.futures
import gc

from subject import finish, get, scope, show


def generator():
    with scope(7):
        yield


with (
    concurrent.futures.ThreadPoolExecutor(1) as first,
    concurrent.futures.ThreadPoolExecutor(1) as second,
):
    running = generator()
    first.submit(next, running).result()
    show("inside", first.submit(get).result())
    second.submit(next, running, None).result()
    show("ended", first.submit(get).result(), second.submit(get).result(), get())
    running = generator()
    first.submit(next, running).result()
    del running
    gc.collect()
    show("collected", first.submit(get).result(), get())
finish()
