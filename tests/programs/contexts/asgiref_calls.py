"""`sync_to_async` and `async_to_sync` of asgiref, which copy the context to a thread and its changes back."""

import asyncio

from asgiref.sync import async_to_sync, sync_to_async
from subjects import Subject, program


@program
def calls(subject: Subject, thread_sensitive: bool) -> None:
    """Each call has the caller's state, and calls may alternate between the loop and threads."""

    def in_thread(number: int) -> int:
        subject.show("thread", number, subject.get())
        with subject.scope(number + 2):
            back = async_to_sync(in_loop)(number)
            subject.show("back", number, subject.get(), back)
        return subject.get()

    async def in_loop(number: int) -> int:
        subject.show("loop", number, subject.get())
        with subject.scope(number + 3):
            await asyncio.sleep(0.001)
            return subject.get()

    async def request(number: int) -> None:
        with subject.scope(number):
            returned = await sync_to_async(in_thread, thread_sensitive=thread_sensitive)(number)
            subject.show("request", number, subject.get(), returned)
        subject.show("after", number, subject.get())

    async def main() -> None:
        for number in range(1, 4):
            await request(number)
        await asyncio.gather(*map(request, range(4, 9)))

    async_to_sync(main)()
    subject.show("main", subject.get())
    subject.shown.sort(key=str)


@program
def scopes_of_a_thread(subject: Subject, thread_sensitive: bool) -> None:
    """A scope that one call enters is open for the code that called it, and another call exits it."""

    async def main() -> None:
        scope = subject.scope(5)
        await sync_to_async(scope.__enter__, thread_sensitive=thread_sensitive)()
        subject.show("entered", subject.get())
        await asyncio.gather(asyncio.sleep(0), asyncio.to_thread(subject.get))
        await sync_to_async(scope.__exit__, thread_sensitive=thread_sensitive)(None, None, None)
        subject.show("exited", subject.get())

    async_to_sync(main)()
    subject.show("main", subject.get())
