"""Context managers that pools enter and exit on different threads, as FastAPI does with dependencies."""

import asyncio
import contextlib

from subject import finish, get, scope, show


@contextlib.contextmanager
def dependency(value: int):
    with scope(value):
        yield value


async def request(value: int) -> None:
    manager = dependency(value)
    await asyncio.to_thread(manager.__enter__)
    show(value, get(), await asyncio.to_thread(get))
    await asyncio.to_thread(manager.__exit__, None, None, None)
    show(value, get(), await asyncio.to_thread(get))


async def main() -> None:
    await asyncio.gather(*[request(value) for value in range(1, 9)])


asyncio.run(main())
finish(ordered=False)
