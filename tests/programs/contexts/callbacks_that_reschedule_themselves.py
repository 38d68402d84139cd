"""A callback that schedules itself inside a scope: each call inherits the scope of the last one."""

import asyncio

from subject import finish, get, scope, show


async def main() -> None:
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def tick(left: int) -> None:
        with scope(left):
            if left:
                loop.call_soon(tick, left - 1)
            else:
                show(get())
                done.set_result(None)
        show_last = get()
        if left % 500 == 0:
            show(left, show_last)

    tick(2000)
    await done
    show("main", get())


asyncio.run(main())
finish()
