"""A process that is forked in a task has the state of the task."""

import asyncio
import os

from subject import finish, get, scope, show


async def main() -> None:
    with scope(3):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, str(get()).encode())
            os._exit(0)
        os.waitpid(child, 0)
        show(os.read(read, 9).decode(), get())


asyncio.run(main())
finish()
