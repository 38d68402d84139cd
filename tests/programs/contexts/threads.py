"""Threads, executors and contexts that are kept."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import threading

from subject import Shown, subject_named


def threads_of_asyncio_and_executors(subject):
    """`asyncio.to_thread` copies the context; executors and threads have the defaults."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def request(value: int) -> None:
        with scope(value):
            shown.add(value, await asyncio.to_thread(get))
            await asyncio.sleep(0.001)
            shown.add(value, await asyncio.to_thread(get))

    async def main() -> None:
        await asyncio.gather(*[request(value) for value in range(1, 6)])
        shown.add("after", await asyncio.to_thread(get))
        with scope(5), concurrent.futures.ThreadPoolExecutor(1) as pool:
            shown.add("executor", await asyncio.get_running_loop().run_in_executor(pool, get))
            thread = threading.Thread(target=lambda: shown.add("thread", get()))
            thread.start()
            thread.join()

    asyncio.run(main())
    return shown.in_any_order()


def loops_on_threads(subject):
    """Event loops on threads, and a loop that runs inside a scope of its thread."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def task(value: int) -> None:
        shown.add("outer", value, get())
        with scope(value):
            await asyncio.sleep(0.001)
            shown.add("inner", value, get())

    def run(value: int) -> None:
        with scope(value):
            asyncio.run(task(value + 1))
            shown.add("thread", value, get())
        shown.add("after", value, get())

    threads = [threading.Thread(target=run, args=(value,)) for value in (1, 4, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(8)
    return shown.in_any_order()


def context_managers_run_by_pools(subject):
    """Context managers that pools enter and exit on different threads, as FastAPI does with dependencies."""
    scope, get = subject_named(subject)
    shown = Shown()

    @contextlib.contextmanager
    def dependency(value: int):
        with scope(value):
            yield value

    async def request(value: int) -> None:
        manager = dependency(value)
        await asyncio.to_thread(manager.__enter__)
        shown.add(value, get(), await asyncio.to_thread(get))
        await asyncio.to_thread(manager.__exit__, None, None, None)
        shown.add(value, get(), await asyncio.to_thread(get))

    async def main() -> None:
        await asyncio.gather(*[request(value) for value in range(1, 9)])

    asyncio.run(main())
    return shown.in_any_order()


def generators_that_end_on_another_thread(subject):
    """Generators that are entered on one thread and end, or are collected, on another."""
    scope, get = subject_named(subject)
    shown = Shown()

    def generator():
        with scope(7):
            yield

    with (
        concurrent.futures.ThreadPoolExecutor(1) as first,
        concurrent.futures.ThreadPoolExecutor(1) as second,
    ):
        running = generator()
        first.submit(next, running).result()
        shown.add("inside", first.submit(get).result())
        second.submit(next, running, None).result()
        shown.add("ended", first.submit(get).result(), second.submit(get).result(), get())
        running = generator()
        first.submit(next, running).result()
        del running
        gc.collect()
        shown.add("collected", first.submit(get).result(), get())
    return shown.values


def contexts_that_are_kept(subject):
    """Contexts that are copied inside a scope, and run later, twice, and on another thread."""
    scope, get = subject_named(subject)
    shown = Shown()

    with scope(2):
        kept = contextvars.copy_context()
    shown.add(get(), kept.run(get), kept.run(get))
    thread = threading.Thread(target=lambda: shown.add(kept.run(get), get()))
    thread.start()
    thread.join()

    def inner() -> list[int]:
        with scope(8):
            return [get(), contextvars.copy_context().run(get)]

    shown.add(kept.run(inner), kept.run(get), get())
    with scope(6):
        shown.add(contextvars.Context().run(get))
    return shown.values
