"""`asyncio.to_thread` copies the context; executors and threads have the defaults."""

import asyncio
import concurrent.futures
import threading

from subject import finish, get, scope, show


async def request(value: int) -> None:
    with scope(value):
        show(value, await asyncio.to_thread(get))
        await asyncio.sleep(0.001)
        show(value, await asyncio.to_thread(get))


async def main() -> None:
    await asyncio.gather(*[request(value) for value in range(1, 6)])
    show("after", await asyncio.to_thread(get))
    with scope(5), concurrent.futures.ThreadPoolExecutor(1) as pool:
        show("executor", await asyncio.get_running_loop().run_in_executor(pool, get))
        thread = threading.Thread(target=lambda: show("thread", get()))
        thread.start()
        thread.join()


asyncio.run(main())
finish(ordered=False)
