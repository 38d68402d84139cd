"""Tasks, callbacks and asynchronous generators of an event loop."""

import asyncio
import contextvars
import os

from subject import Shown, subject_named

# They live until the process ends.
kept = []


def tasks_overlap(subject):
    """Tasks whose scopes overlap, beside one without a scope."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def scoped(value: int) -> None:
        with scope(value):
            for _ in range(3):
                shown.add(value, get())
                await asyncio.sleep(0.001 * value)

    async def plain() -> None:
        for _ in range(5):
            shown.add("plain", get())
            await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(scoped(1), scoped(2), scoped(3), plain())
        shown.add("end", get())

    asyncio.run(main())
    shown.add("main", get())
    return shown.in_any_order()


def tasks_that_are_cancelled_or_raise(subject):
    """Scopes of tasks that are cancelled, time out or raise, in a task group."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def waits(value: int) -> None:
        try:
            with scope(value):
                await asyncio.sleep(60)
        finally:
            shown.add("after", value, get())

    async def raises(value: int) -> None:
        with scope(value):
            await asyncio.sleep(0)
            raise ValueError(value)

    async def main() -> None:
        with scope(5):
            task = asyncio.create_task(waits(1))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            try:
                await asyncio.wait_for(waits(2), 0.01)
            except TimeoutError:
                shown.add("timeout", get())
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(waits(3))
                    group.create_task(raises(4))
            except ExceptionGroup as errors:
                shown.add(str(errors.exceptions[0]), get())
        shown.add("main", get())

    asyncio.run(main())
    return shown.values


def callbacks_of_the_loop(subject):
    """`call_soon`, `call_later` and done callbacks run in the context in which they were scheduled."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        with scope(3):
            loop.call_soon(lambda: shown.add("soon", get()))
            loop.call_later(0.005, lambda: shown.add("later", get()))
            task = asyncio.create_task(asyncio.sleep(0))
            task.add_done_callback(lambda _: shown.add("done", get()))
        with scope(2):
            loop.call_later(0.02, done.set_result, None)
            await done
        shown.add("main", get())

    asyncio.run(main())
    return shown.values


def callbacks_that_reschedule_themselves(subject):
    """A callback that schedules itself inside a scope: each call inherits the scope of the last one."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def tick(left: int) -> None:
            with scope(left):
                if left:
                    loop.call_soon(tick, left - 1)
                else:
                    shown.add(get())
                    done.set_result(None)
            show_last = get()
            if left % 500 == 0:
                shown.add(left, show_last)

        tick(2000)
        await done
        shown.add("main", get())

    asyncio.run(main())
    return shown.values


def async_generators(subject):
    """Asynchronous generators with an open scope, left to the event loop or iterated by another task."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def numbers():
        with scope(3):
            for number in range(3):
                shown.add("inside", get())
                yield number

    async def main() -> None:
        async for _ in numbers():
            shown.add("consumer", get())
            break
        running = numbers()
        await asyncio.create_task(anext(running))
        shown.add("main", get())
        await running.aclose()
        shown.add("closed", get())

    asyncio.run(main())
    shown.add("end", get())
    return shown.values


def objects_that_are_shared(subject):
    """One object that tasks share, that is entered twice, and exited more often than entered."""
    scope, get = subject_named(subject)
    shown = Shown()

    shared = scope(3)

    async def task(name: str, delay: float) -> None:
        shown.add(name, get())
        with shared:
            await asyncio.sleep(delay)
            shown.add(name, get())
        shown.add(name, get())

    async def main() -> None:
        await asyncio.gather(task("a", 0.003), task("b", 0.001), task("c", 0.002))
        with shared, shared:
            shown.add("twice", get())
        shared.__exit__(None, None, None)
        shown.add("excess", get())
        shared.__enter__()
        copy = contextvars.copy_context()
        copy.run(shared.__enter__)
        shared.__exit__(None, None, None)
        shown.add("here", get(), copy.run(get))
        shared.__exit__(None, None, None)
        shown.add("both", get(), copy.run(get))

    asyncio.run(main())
    return shown.in_any_order()


def scopes_out_of_order(subject):
    """Scopes that are exited out of order, while a copy of the context is in use."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def main() -> None:
        first, second, third = scope(2), scope(5), scope(4)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        shown.add(get(), await asyncio.to_thread(get))
        third.__enter__()
        second.__exit__(None, None, None)
        shown.add(get())
        third.__exit__(None, None, None)
        shown.add(get())

    asyncio.run(main())
    return shown.values


def forks_in_a_task(subject):
    """A process that is forked in a task has the state of the task."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def main() -> None:
        with scope(3):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(write, str(get()).encode())
                os._exit(0)
            os.waitpid(child, 0)
            shown.add(os.read(read, 9).decode(), get())

    asyncio.run(main())
    return shown.values


def exits_with_suspended_tasks(subject):
    """The process exits while tasks are suspended inside scopes."""
    scope, get = subject_named(subject)
    shown = Shown()

    async def task(value: int) -> None:
        with scope(value):
            await asyncio.Event().wait()

    async def main() -> None:
        kept.append([asyncio.create_task(task(value)) for value in range(1, 50)])
        await asyncio.sleep(0)
        shown.add(get())

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    shown.add(get())
    return shown.values
