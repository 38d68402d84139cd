"""Scopes that are exited out of order, while a copy of the context is in use."""

import asyncio

from subject import finish, get, scope, show


async def main() -> None:
    first, second, third = scope(2), scope(5), scope(4)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    show(get(), await asyncio.to_thread(get))
    third.__enter__()
    second.__exit__(None, None, None)
    show(get())
    third.__exit__(None, None, None)
    show(get())


asyncio.run(main())
finish()
