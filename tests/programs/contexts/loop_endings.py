"""Eager tasks, signal handlers and async generators that the loop of asyncio runs or closes."""

import asyncio
import os
import signal

from subjects import Subject, program


@program
def eager_tasks(subject: Subject) -> None:
    """A task whose first step runs in the call that creates it (Python 3.12)."""

    async def child(number: int, delay: float | None) -> int:
        subject.show("first", number, subject.get())
        with subject.scope(number):
            if delay is not None:
                await asyncio.sleep(delay)
            subject.show("inside", number, subject.get())
        return subject.get()

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with subject.scope(6):
            tasks = [asyncio.create_task(child(number, None)) for number in (1, 2)]
            subject.show("created", subject.get())
            tasks += [asyncio.create_task(child(number, 0.001 * number)) for number in (3, 4)]
            subject.show("created", subject.get())
        subject.show("returned", *await asyncio.gather(*tasks))
        async with asyncio.TaskGroup() as group:
            group.create_task(child(5, 0))
            subject.show("group", subject.get())

    asyncio.run(main())


@program
def signal_handlers(subject: Subject, loop: str) -> None:
    """A handler has the state in which it was added with asyncio."""

    async def main() -> None:
        running = asyncio.get_running_loop()
        called = asyncio.Event()

        def handler() -> None:
            subject.show("handler", subject.get())
            scope.__enter__()
            subject.show("inside", subject.get())
            called.set()

        scope = subject.scope(5)
        with subject.scope(3):
            running.add_signal_handler(signal.SIGUSR1, handler)
        with subject.scope(4):
            os.kill(os.getpid(), signal.SIGUSR1)
            await called.wait()
            subject.show("task", subject.get())
        scope.__exit__(None, None, None)
        subject.show("after", subject.get())
        running.remove_signal_handler(signal.SIGUSR1)

    if loop == "uvloop":
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())


@program
def async_generators(subject: Subject, loop: str) -> None:
    """Generators with an open scope that the collector or the end of the loop closes."""
    left = []
    closed = []

    async def numbers(name: str) -> object:
        with subject.scope(3):
            try:
                yield subject.get()
                yield subject.get()
            finally:
                subject.show("closing", name, subject.get())
                closed.append(name)

    async def closes(name: str) -> None:
        # The collector leaves it to the loop, which needs several turns.
        while name not in closed:
            await asyncio.sleep(0)

    async def leaves(name: str) -> None:
        async for _ in numbers(name):
            subject.show("leaves", name, subject.get())
            break

    async def keeps(name: str) -> None:
        left.append(numbers(name))
        await anext(left[-1])
        subject.show("keeps", name, subject.get())

    async def main() -> None:
        with subject.scope(2):
            await asyncio.create_task(leaves("collected"))
            await closes("collected")
            subject.show("main", subject.get())
            await asyncio.create_task(keeps("shutdown"))
        await leaves("here")
        await closes("here")
        subject.show("end", subject.get())

    if loop == "uvloop":
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())
    subject.show("after", subject.get())
