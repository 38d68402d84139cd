"""Tasks, callbacks and asynchronous generators of an event loop."""

import asyncio
import contextvars
import os

from subjects import Subject, program

# They live until the process ends.
kept = []


@program
def tasks_overlap(subject: Subject) -> None:
    """Tasks whose scopes overlap, beside one without a scope."""
    scope, get, show = subject.scope, subject.get, subject.show

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
    subject.shown.sort(key=str)


@program
def tasks_that_are_cancelled_or_raise(subject: Subject) -> None:
    """Scopes of tasks that are cancelled, time out or raise, in a task group."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def waits(value: int) -> None:
        try:
            with scope(value):
                await asyncio.sleep(60)
        finally:
            show("after", value, get())

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
                show("timeout", get())
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(waits(3))
                    group.create_task(raises(4))
            except ExceptionGroup as errors:
                show(str(errors.exceptions[0]), get())
        show("main", get())

    asyncio.run(main())


@program
def callbacks_of_the_loop(subject: Subject) -> None:
    """`call_soon`, `call_later` and done callbacks run in the context in which they were scheduled."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        with scope(3):
            loop.call_soon(lambda: show("soon", get()))
            # Long enough for the done callback to run first on a slow machine.
            loop.call_later(0.1, lambda: show("later", get()))
            task = asyncio.create_task(asyncio.sleep(0))
            task.add_done_callback(lambda _: show("done", get()))
        with scope(2):
            loop.call_later(0.12, done.set_result, None)
            await done
        show("main", get())

    asyncio.run(main())


@program
def callbacks_that_reschedule_themselves(subject: Subject) -> None:
    """A callback that schedules itself inside a scope: each call inherits the scope of the last one."""
    scope, get, show = subject.scope, subject.get, subject.show

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


@program
def async_generators(subject: Subject) -> None:
    """Asynchronous generators with an open scope, left to the event loop or iterated by another task."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def numbers():
        with scope(3):
            for number in range(3):
                show("inside", get())
                yield number

    async def main() -> None:
        async for _ in numbers():
            show("consumer", get())
            break
        running = numbers()
        await asyncio.create_task(anext(running))
        show("main", get())
        await running.aclose()
        show("closed", get())

    asyncio.run(main())
    show("end", get())


@program
def objects_that_are_shared(subject: Subject) -> None:
    """One object that tasks share, that is entered twice, and exited more often than entered."""
    scope, get, show = subject.scope, subject.get, subject.show

    shared = scope(3)

    async def task(name: str, delay: float) -> None:
        show(name, get())
        with shared:
            await asyncio.sleep(delay)
            show(name, get())
        show(name, get())

    async def main() -> None:
        await asyncio.gather(task("a", 0.003), task("b", 0.001), task("c", 0.002))
        with shared, shared:
            show("twice", get())
        shared.__exit__(None, None, None)
        show("excess", get())
        shared.__enter__()
        copy = contextvars.copy_context()
        copy.run(shared.__enter__)
        shared.__exit__(None, None, None)
        show("here", get(), copy.run(get))
        shared.__exit__(None, None, None)
        show("both", get(), copy.run(get))

    asyncio.run(main())
    subject.shown.sort(key=str)


@program
def scopes_out_of_order(subject: Subject) -> None:
    """Scopes that are exited out of order, while a copy of the context is in use."""
    scope, get, show = subject.scope, subject.get, subject.show

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


@program
def forks_in_a_task(subject: Subject) -> None:
    """A process that is forked in a task has the state of the task."""
    scope, get, show = subject.scope, subject.get, subject.show

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


@program
def exits_with_suspended_tasks(subject: Subject) -> None:
    """The process exits while tasks are suspended inside scopes."""
    scope, get, show = subject.scope, subject.get, subject.show

    async def task(value: int) -> None:
        with scope(value):
            await asyncio.Event().wait()

    async def main() -> None:
        kept.append([asyncio.create_task(task(value)) for value in range(1, 50)])
        await asyncio.sleep(0)
        show(get())

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    show(get())
