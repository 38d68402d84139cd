"""Nurseries, cancellation and threads of trio."""

import trio
from subjects import Subject, program


@program
def nurseries(subject: Subject) -> None:
    """A task has the state of the code that started it, not of the code that opened the nursery."""

    async def child(name: str, number: int, task_status: object = trio.TASK_STATUS_IGNORED) -> None:
        with subject.scope(number):
            task_status.started(subject.get())
            await trio.sleep(0.001)
            subject.show("inside", name, subject.get())
        subject.show("after", name, subject.get())

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            with subject.scope(6):
                nursery.start_soon(child, "soon", 3)
                subject.show("started", await nursery.start(child, "started", 5))
                subject.show("parent", subject.get())
            nursery.start_soon(child, "outside", 2)
        subject.show("joined", subject.get())

    with subject.scope(1):
        trio.run(main)
    subject.show("main", subject.get())
    subject.shown.sort(key=str)


@program
def cancellation(subject: Subject) -> None:
    async def waits() -> None:
        try:
            with subject.scope(3):
                await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0)
                subject.show("cancelled", subject.get())

    async def main() -> None:
        with subject.scope(4), trio.move_on_after(0.005):
            async with trio.open_nursery() as nursery:
                with subject.scope(7):
                    nursery.start_soon(waits)
        subject.show("end", subject.get())

    trio.run(main)


@program
def threads(subject: Subject) -> None:
    def in_thread() -> None:
        subject.show("thread", subject.get())
        with subject.scope(3):
            subject.show("back", trio.from_thread.run_sync(subject.get), trio.from_thread.run(read))

    async def read() -> int:
        await trio.sleep(0)
        return subject.get()

    async def main() -> None:
        with subject.scope(5):
            await trio.to_thread.run_sync(in_thread)
        await trio.to_thread.run_sync(in_thread)

    trio.run(main)


@program
def async_generators(subject: Subject) -> None:
    """Generators that are left to the loop, which closes them."""

    async def numbers() -> object:
        with subject.scope(3):
            try:
                yield 1
                yield 2
            finally:
                subject.show("closed", subject.get())

    async def consumer() -> None:
        async for _ in numbers():
            subject.show("inside", subject.get())
            break
        await trio.sleep(0)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(consumer)
        subject.show("main", subject.get())

    trio.run(main)
    subject.show("end", subject.get())
    # trio does not determine the order of tasks.
    subject.shown.sort(key=str)
