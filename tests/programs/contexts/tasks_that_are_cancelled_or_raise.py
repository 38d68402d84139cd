"""Scopes of tasks that are cancelled, time out or raise, in a task group."""

import asyncio

from subject import finish, get, scope, show


async def waits(value: int) -> None:
    try:
        with scope(value):
            await asyncio.sleep(60)
    finally:
        show("after", value, get())


async def raises(value: int) -> None:
    with scope(value):
        await asyncio.sleep(0)
        raise ValueError(value)


async def main() -> None:
    with scope(5):
        task = asyncio.create_task(waits(1))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        try:
            await asyncio.wait_for(waits(2), 0.01)
        except TimeoutError:
            show("timeout", get())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(waits(3))
                group.create_task(raises(4))
        except ExceptionGroup as errors:
            show(str(errors.exceptions[0]), get())
    show("main", get())


asyncio.run(main())
finish()
