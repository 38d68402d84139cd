"""One object that tasks share, that is entered twice, and exited more often than entered."""

import asyncio
import contextvars

from subject import finish, get, scope, show

shared = scope(3)


async def task(name: str, delay: float) -> None:
    show(name, get())
    with shared:
        await asyncio.sleep(delay)
        show(name, get())
    show(name, get())


async def main() -> None:
    await asyncio.gather(task("a", 0.003), task("b", 0.001), task("c", 0.002))
    with shared, shared:
        show("twice", get())
    shared.__exit__(None, None, None)
    show("excess", get())
    shared.__enter__()
    copy = contextvars.copy_context()
    copy.run(shared.__enter__)
    shared.__exit__(None, None, None)
    show("here", get(), copy.run(get))
    shared.__exit__(None, None, None)
    show("both", get(), copy.run(get))


asyncio.run(main())
finish(ordered=False)
