"""Tasks, callbacks and executors of uvloop."""

import asyncio
import concurrent.futures

import uvloop
from subjects import Subject, program


@program
def tasks(subject: Subject) -> None:
    async def child(number: int) -> None:
        subject.show("first", number, subject.get())
        with subject.scope(number):
            for _ in range(3):
                await asyncio.sleep(0.001)
                subject.show("inside", number, subject.get(), await asyncio.to_thread(subject.get))
        subject.show("after", number, subject.get())

    async def main() -> None:
        with subject.scope(7):
            await asyncio.gather(*map(child, range(1, 6)))
        subject.show("main", subject.get())

    uvloop.run(main())
    subject.shown.sort(key=str)


@program
def callbacks(subject: Subject) -> None:
    """Callbacks have the state of the code that scheduled them; a default executor has the defaults."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, uvloop.Loop)
        done = loop.create_future()
        with subject.scope(3):
            loop.call_soon(lambda: subject.show("soon", subject.get()))
            loop.call_later(0.005, lambda: subject.show("later", subject.get()))
            loop.call_later(0.02, done.set_result, None)
        with subject.scope(4):
            await done
            subject.show("executor", await loop.run_in_executor(None, subject.get))
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                subject.show("pool", await loop.run_in_executor(pool, subject.get))
                await loop.run_in_executor(
                    pool, loop.call_soon_threadsafe, lambda: subject.show("threadsafe", subject.get())
                )
            await asyncio.sleep(0.005)
        subject.show("main", subject.get())

    uvloop.run(main())
