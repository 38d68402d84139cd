"""`call_soon`, `call_later` and done callbacks run in the context in which they were scheduled."""

import asyncio

from subject import finish, get, scope, show


async def main() -> None:
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    with scope(3):
        loop.call_soon(lambda: show("soon", get()))
        loop.call_later(0.005, lambda: show("later", get()))
        task = asyncio.create_task(asyncio.sleep(0))
        task.add_done_callback(lambda _: show("done", get()))
    with scope(2):
        loop.call_later(0.02, done.set_result, None)
        await done
    show("main", get())


asyncio.run(main())
finish()
