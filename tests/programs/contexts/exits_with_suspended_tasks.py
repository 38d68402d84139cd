"""The process exits while tasks are suspended inside scopes."""

import asyncio

from subject import finish, get, scope, show


async def task(value: int) -> None:
    with scope(value):
        await asyncio.Event().wait()


async def main() -> None:
    global tasks
    tasks = [asyncio.create_task(task(value)) for value in range(1, 50)]
    await asyncio.sleep(0)
    show(get())


loop = asyncio.new_event_loop()
loop.run_until_complete(main())
show(get())
finish()
