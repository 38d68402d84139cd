"""Threads, executors and contexts that are kept."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import threading

from subjects import Subject, program


@program
def threads_of_asyncio_and_executors(subject: Subject) -> None:
    """`asyncio.to_thread` copies the context; executors and threads have the defaults."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def request(value: int) -> None:
        with scope(value):
            show(value, await asyncio.to_thread(get))
            await asyncio.sleep(0.001)
            show(value, await asyncio.to_thread(get))

    async def main() -> None:
        await asyncio.gather(*[request(value) for value in range(1, 6)])
        show("after", await asyncio.to_thread(get))
        with scope(5), concurrent.futures.ThreadPoolExecutor(1) as pool:
            show("executor", await asyncio.get_running_loop().run_in_executor(pool, get))
            thread = threading.Thread(target=lambda: show("thread", get()))
            thread.start()
            thread.join()

    asyncio.run(main())
    subject.shown.sort(key=str)


@program
def loops_on_threads(subject: Subject) -> None:
    """Event loops on threads, and a loop that runs inside a scope of its thread."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def task(value: int) -> None:
        show("outer", value, get())
        with scope(value):
            await asyncio.sleep(0.001)
            show("inner", value, get())

    def run(value: int) -> None:
        with scope(value):
            asyncio.run(task(value + 1))
            show("thread", value, get())
        show("after", value, get())

    threads = [threading.Thread(target=run, args=(value,)) for value in (1, 4, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(8)
    subject.shown.sort(key=str)


@program
def context_managers_run_by_pools(subject: Subject) -> None:
    """Context managers that pools enter and exit on different threads, as FastAPI does with dependencies."""
    scope, get, show = subject.scope, subject.get, subject.show

    @contextlib.contextmanager
    def dependency(value: int):
        with scope(value):
            yield value

    async def request(value: int) -> None:
        manager = dependency(value)
        await asyncio.to_thread(manager.__enter__)
        show(value, get(), await asyncio.to_thread(get))
        await asyncio.to_thread(manager.__exit__, None, None, None)
        show(value, get(), await asyncio.to_thread(get))

    async def main() -> None:
        await asyncio.gather(*[request(value) for value in range(1, 9)])

    asyncio.run(main())
    subject.shown.sort(key=str)


@program
def generators_that_end_on_another_thread(subject: Subject) -> None:
    """Generators that are entered on one thread and end, or are collected, on another."""
    scope, get, show = subject.scope, subject.get, subject.show

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


@program
def contexts_that_are_kept(subject: Subject) -> None:
    """Contexts that are copied inside a scope, and run later, twice, and on another thread."""
    scope, get, show = subject.scope, subject.get, subject.show

    with scope(2):
        kept = contextvars.copy_context()
    show(get(), kept.run(get), kept.run(get))
    thread = threading.Thread(target=lambda: show(kept.run(get), get()))
    thread.start()
    thread.join()

    def inner() -> list[int]:
        with scope(8):
            return [get(), contextvars.copy_context().run(get)]

    show(kept.run(inner), kept.run(get), get())
    with scope(6):
        show(contextvars.Context().run(get))
