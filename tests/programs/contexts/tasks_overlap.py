"""Tasks whose scopes overlap, beside one without a scope."""

import asyncio

from subject import finish, get, scope, show


async def scoped(value: int) -> None:
    with scope(value):
        for _ in range(3):
            show(value, get())
            await asyncio.sleep(0.001 * value)


async def plain() -> None:
    for _ in range(5):
        show("plain", get())
        await asyncio.sleep(0.001)


async def main() -> None:
    await asyncio.gather(scoped(1), scoped(2), scoped(3), plain())
    show("end", get())


asyncio.run(main())
show("main", get())
finish(ordered=False)
