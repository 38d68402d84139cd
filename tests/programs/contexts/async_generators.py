"""Asynchronous generators with an open scope that are left to the event loop, or iterated by another task."""

import asyncio

from subject import finish, get, scope, show


async def numbers():
    with scope(3):
        for number in range(3):
            show("inside", get())
            yield number


async def main() -> None:
    async for _ in numbers():
        show("consumer", get())
        break
    running = numbers()
    await asyncio.create_task(anext(running))
    show("main", get())
    await running.aclose()
    show("closed", get())


asyncio.run(main())
show("end", get())
finish()
