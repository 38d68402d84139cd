"""Event loops on threads, and a loop that runs inside a scope of its thread."""

import asyncio
import threading

from subject import finish, get, scope, show


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
finish(ordered=False)
