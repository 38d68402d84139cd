"""Task groups, cancellation and threads of anyio, on asyncio and on trio."""

import anyio
import anyio.from_thread
import anyio.to_thread
from subjects import Subject, program


@program
def task_groups(subject: Subject, backend: str) -> None:
    """Tasks have the state of the code that started them, and a child changes only its own."""

    async def child(number: int) -> None:
        subject.show("child", number, subject.get())
        with subject.scope(number):
            await anyio.sleep(0.001 * number)
            subject.show("inside", number, subject.get())
        subject.show("after", number, subject.get())

    async def main() -> None:
        with subject.scope(9):
            async with anyio.create_task_group() as group:
                for number in range(1, 6):
                    group.start_soon(child, number)
                subject.show("parent", subject.get())
            subject.show("joined", subject.get())
        subject.show("main", subject.get())

    anyio.run(main, backend=backend)
    subject.shown.sort(key=str)


@program
def cancellation(subject: Subject, backend: str) -> None:
    """A scope ends with the task that a timeout or the failure of its group cancels."""

    async def waits(number: int) -> None:
        try:
            with subject.scope(number):
                await anyio.sleep_forever()
        finally:
            subject.show("cancelled", number, subject.get())

    async def fails() -> None:
        with subject.scope(7):
            await anyio.sleep(0.001)
            raise ValueError(subject.get())

    async def main() -> None:
        with subject.scope(4):
            with anyio.move_on_after(0.001), subject.scope(1):
                await anyio.sleep_forever()
            subject.show("timeout", subject.get())
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(waits, 3)
                    group.start_soon(fails)
            except ExceptionGroup as errors:
                subject.show("failed", str(errors.exceptions[0]), subject.get())
            with subject.scope(5), anyio.CancelScope() as cancelled:
                cancelled.cancel()
                await anyio.sleep(0)
            subject.show("end", subject.get())

    anyio.run(main, backend=backend)
    subject.show("main", subject.get())


@program
def threads(subject: Subject, backend: str) -> None:
    """`to_thread.run_sync` has the caller's state, and `from_thread` that of the thread's code."""

    def in_thread(number: int) -> None:
        subject.show("thread", number, subject.get())
        with subject.scope(number + 1):
            subject.show("sync", number, anyio.from_thread.run_sync(subject.get))
            subject.show("async", number, anyio.from_thread.run(in_loop))
        subject.show("after", number, subject.get())

    async def in_loop() -> int:
        await anyio.sleep(0)
        with subject.scope(8):
            await anyio.sleep(0.001)
        return subject.get()

    async def request(number: int) -> None:
        with subject.scope(number):
            await anyio.to_thread.run_sync(in_thread, number)
            subject.show("request", number, subject.get())
        subject.show("left", number, await anyio.to_thread.run_sync(subject.get))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(1, 6):
                group.start_soon(request, number)

    anyio.run(main, backend=backend)
    subject.shown.sort(key=str)


@program
def portals(subject: Subject, backend: str) -> None:
    """A loop that runs on another thread gets the state of each caller of its portal."""

    async def inside(number: int) -> int:
        await anyio.sleep(0)
        before = subject.get()
        with subject.scope(number):
            await anyio.sleep(0)
            return before * 10 + subject.get()

    with anyio.from_thread.start_blocking_portal(backend) as portal:
        for number in range(1, 4):
            with subject.scope(number):
                subject.show(portal.call(inside, number + 3), portal.start_task_soon(subject.get).result())
        subject.show(portal.call(subject.get))
