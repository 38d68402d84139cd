"""Runs the call of the first argument twice, and prints the gradient mode and a flag afterwards."""

import asyncio
import contextlib
import json
import sys
import threading

import interlock
from interlock import aio, backends


def flags():
    return backends.override(**{"cudnn.benchmark": True})


async def scope_until(scope, entered, end):
    with scope():
        entered.set()
        await end.wait()


async def two_tasks(first, second):
    for _ in range(2):
        entered, exited, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        one = asyncio.create_task(scope_until(first, entered, exited))
        await entered.wait()
        two = asyncio.create_task(scope_until(second, asyncio.Event(), end))
        await asyncio.sleep(0)
        exited.set()
        try:
            await one
        finally:
            end.set()
            await two


def with_factory(coroutine):
    async def main():
        asyncio.get_running_loop().set_task_factory(aio.task_factory())
        await asyncio.create_task(coroutine)

    asyncio.run(main())


def out_of_order():
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    first.enter_context(interlock.no_grad())
    second.enter_context(flags())
    first.close()
    second.close()


def one_task():
    async def main():
        out_of_order()

    asyncio.run(main())


def nested_tasks():
    async def inner():
        with interlock.no_grad():
            pass

    async def main():
        with flags():
            await asyncio.create_task(inner())

    asyncio.run(main())


def no_loop():
    out_of_order()


def two_threads():
    async def main():
        await asyncio.gather(*(asyncio.to_thread(out_of_order) for _ in range(2)))

    asyncio.run(main())
    threads = [threading.Thread(target=out_of_order) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


try:
    eval(json.loads(sys.argv[1]))
finally:
    print(interlock.is_grad_enabled(), backends.cudnn.benchmark)
